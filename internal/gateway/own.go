package gateway

import (
	"bytes"
	"context"
	_ "embed"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// ownTool answers a call of one of our own tools, those of the search face.
type ownTool func(g *Gateway, ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError)

var ownTools = map[string]ownTool{
	"retrieve_tools":        (*Gateway).retrieve,
	"describe_tool":         (*Gateway).describe,
	"call_tool_read":        variant(contract.Read),
	"call_tool_write":       variant(contract.Write),
	"call_tool_destructive": variant(contract.Destructive),
	"upstream_servers":      (*Gateway).upstreamServers,
	"quarantine_security":   (*Gateway).quarantineSecurity,
}

// callWith is the tool to call a tool of this class with.
func callWith(c contract.Class) string { return "call_tool_" + c.String() }

//go:embed own_tools.json
var ownFile []byte

// ownList is the answer to tools/list in the search face.
var ownList = bytes.ReplaceAll(ownFile, []byte("\n"), nil)
