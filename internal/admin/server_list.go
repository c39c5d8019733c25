package admin

import "context"

func (a *api) listServers(_ context.Context, in *struct{ Paging }) (*body[Page[Server]], error) {
	c := a.Trust.Catalogue()
	var all []keyed[Server]
	for _, s := range c.Servers() {
		all = append(all, keyed[Server]{key(s.Name), a.serverView(c, s)})
	}
	p, err := page(in.Paging, all)
	return &body[Page[Server]]{p}, err
}

func (a *api) getServer(_ context.Context, in *OnServer) (*body[Server], error) {
	return a.answerServer(in.Name)
}
