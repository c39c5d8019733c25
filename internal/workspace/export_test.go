package workspace

// Look looks through the roots as a command does.
func Look(s *Server) { s.look(true, nil) }
