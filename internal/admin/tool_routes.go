package admin

import (
	"net/http"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// OnTool names one record. A name may hold any character: it stands in the path
// percent-encoded, a dot included.
type OnTool struct {
	OnServer
	Tool string `path:"tool" doc:"Name as the server gives it, percent-encoded"`
	Kind string `query:"kind" enum:"tool,prompt,template,instructions" default:"tool"`
}

func (a *api) toolRoutes() {
	const tools, one = "/api/v1/servers/{name}/tools", "/api/v1/servers/{name}/tools/{tool}"
	route(a, "list-tools", http.MethodGet, "/api/v1/tools", "List tools, prompts, templates and instructions", a.listTools)
	route(a, "review-queue", http.MethodGet, "/api/v1/review", "What waits for a person, most dangerous first", a.reviewQueue)
	route(a, "get-tool", http.MethodGet, one, "Get one", a.getTool)
	route(a, "review-tool", http.MethodGet, one+"/review", "What a person looks at before deciding", a.reviewTool)
	route(a, "tool-history", http.MethodGet, one+"/history", "Every transition of one, newest first", a.toolHistory)
	route(a, "approve-tools", http.MethodPost, tools+"/approve", "Approve live contracts, all or none", a.decide(approval.Approve))
	route(a, "dismiss-tools", http.MethodPost, tools+"/dismiss", "Decline waiting updates, all or none", a.decide(approval.Dismiss))
	route(a, "block-tools", http.MethodPost, tools+"/block", "Block, whatever the contract is", a.blockTools)
	route(a, "unblock-tools", http.MethodPost, tools+"/unblock", "Take a block away, all or none", a.decide(approval.Unblock))
}
