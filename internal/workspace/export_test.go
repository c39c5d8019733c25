package workspace

// Look looks through the roots as a command does.
func Look(s *Server) { s.look(true, nil) }

// MostCopies limits the copies of a session, in bytes.
func MostCopies(s *Server, most int64) { s.base.most = most }

// Copies is how many bytes of copies there are.
func Copies(s *Server) int64 { return s.base.size }

// GitLeads are the paths that a git configuration leads to.
func GitLeads(text string) (all []string) {
	for _, l := range gitLeads(text) {
		all = append(all, l.path)
	}
	return all
}
