package wire

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// local keeps out what a web page can send: a request whose Host is not ours (DNS
// rebinding) or whose Origin is another site. It answers with 403 and gives false.
func (s *HTTPServer) local(w http.ResponseWriter, r *http.Request) bool {
	if !s.ourHost(r.Host) {
		reject(w, http.StatusForbidden, "this Host is not served here; add its name to the allowed hosts in the configuration")
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	origin := origins[0]
	if len(origins) == 1 && sameSite(origin, r.Host) {
		return true
	}
	if len(origins) > 1 || !slices.Contains(s.Origins, origin) {
		reject(w, http.StatusForbidden, "web pages of this Origin may not connect; add it to the allowed origins in the configuration")
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
	h.Add("Vary", "Origin")
	return true
}

func sameSite(origin, host string) bool {
	site, ok := strings.CutPrefix(origin, "http://")
	if !ok {
		site, ok = strings.CutPrefix(origin, "https://")
	}
	return ok && strings.EqualFold(site, host)
}

func (s *HTTPServer) ourHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		return h == "*" || name != "" && strings.EqualFold(h, name)
	})
}

// isJSON reports whether the body is declared as JSON. Anything else is refused:
// a page can post other types to another site without being asked.
func isJSON(h http.Header) bool {
	v := h["Content-Type"]
	if len(v) != 1 {
		return false
	}
	if v[0] == "application/json" {
		return true
	}
	t, _, err := mime.ParseMediaType(v[0])
	return err == nil && t == "application/json"
}

// accepted reads what the client takes in answer. The specification asks clients
// to name both types; some name one, a wildcard or nothing at all, and each gets
// what it can read.
func accepted(h http.Header) (plain, stream bool) {
	values := h["Accept"]
	if len(values) == 0 {
		return true, true
	}
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			t, params, _ := strings.Cut(part, ";")
			if q := strings.TrimSpace(params); q == "q=0" || strings.HasPrefix(q, "q=0.0") && strings.Trim(q, "q=0.") == "" {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(t)) {
			case "application/json", "application/*":
				plain = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				plain, stream = true, true
			}
		}
	}
	return plain, stream
}

// codeUnsupportedVersion is MCP 2026-07-28's: clients of that revision read the
// versions to fall back to from its data.
const codeUnsupportedVersion = -32022

// spoken reports whether the protocol version that a request names is one of ours;
// without one it is the session's. If not, it answers with 400.
func spoken(w http.ResponseWriter, r *http.Request, id []byte) bool {
	v := r.Header["Mcp-Protocol-Version"]
	if len(v) == 0 || len(v) == 1 && slices.Contains(Versions, v[0]) {
		return true
	}
	data := []byte(`{"supported":[`)
	for i, version := range Versions {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, Quote(version)...)
	}
	asked := v[0]
	data = append(append(append(data, `],"requested":`...), Quote(asked[:min(len(asked), 64)])...), '}')
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(http.StatusBadRequest)
	write(w, NewError(id, codeUnsupportedVersion, "this protocol version is not spoken here", data))
	return false
}

// reject answers a request that is no part of a session's conversation.
func reject(w http.ResponseWriter, status int, why string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	write(w, []byte(why+"\n"))
}

// refuse answers with a JSON-RPC error under an HTTP status.
func refuse(w http.ResponseWriter, status int, id []byte, code int, why string) {
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(status)
	write(w, NewError(id, code, why, nil))
}

// write writes a body. That the agent left meanwhile is nobody's error.
func write(w http.ResponseWriter, parts ...[]byte) {
	for _, b := range parts {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

var typeJSON = []string{"application/json"}
