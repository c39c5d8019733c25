package gateway

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// The faces: what an agent sees, and under which names.
const (
	faceMain   = "" // /mcp: direct or search, as the configuration says or as many tools there are
	faceDirect = "direct"
	faceSearch = "search"
	faceServer = "server"
)

// mostDirect is how many ready tools /mcp still lists one by one when the
// configuration does not say which face it is.
const mostDirect = 40

// place is where an agent came in: the path of a session.
type place struct {
	kind   string
	server string // of the server face
}

// placeOf reads a path. A server's name is only looked at for its form: whether
// there is one is not told here.
func placeOf(path string) (place, bool) {
	switch path {
	case "/mcp":
		return place{kind: faceMain}, true
	case "/mcp/direct":
		return place{kind: faceDirect}, true
	case "/mcp/search":
		return place{kind: faceSearch}, true
	}
	name, ok := strings.CutPrefix(path, "/mcp/server/")
	return place{kind: faceServer, server: name}, ok && approval.ValidName(name)
}

// names is how the tools of upstreams are called here.
func (p place) names() dispatch.Face {
	if p.kind == faceServer {
		return dispatch.Face{Server: p.server}
	}
	return dispatch.Face{Direct: true}
}

// view is what an agent sees at a place: our own tools (the search face), or the
// ready tools one by one.
type view struct {
	search bool
	tools  []dispatch.Entry // ready, within the scope; nil in the search face
}

// viewOf decides it by one catalogue.
func (g *Gateway) viewOf(c *dispatch.Catalogue, at place, who dispatch.Caller) view {
	kind := at.kind
	if kind == faceMain {
		kind = g.o.Face
	}
	if kind == faceSearch {
		return view{search: true}
	}
	tools := c.Ready(at.names(), approval.Tool, who)
	if kind == faceMain && len(tools) > mostDirect {
		return view{search: true}
	}
	return view{tools: tools}
}
