package store

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// recordRow is a record made ready outside the writer.
type recordRow struct {
	key     approval.Key
	version int64 // that it was made from
	state   [32]byte
	values  []any // of the columns of recordColumns, in order
}

// recordColumns are what a write of a record sets, in order, after its key,
// version, seq and state.
const recordColumns = "status, approved, approved_problem, approved_raw, approved_by," +
	" anchor, anchor_problem, anchor_raw, anchor_by, accepted," +
	" live, live_problem, live_raw, live_scan, declined, blocked, absent, evidence"

func recordOut(r approval.Record, blobs *blobs) (recordRow, error) {
	row := recordRow{key: r.Key, version: r.Version}
	var err error
	text := func(v any) string {
		s, e := encode(v)
		if e != nil && err == nil {
			err = e
		}
		return s
	}
	contractOf := func(c contract.Contract) (digest contract.Digest, problem string, raw []byte) {
		if len(c.Raw()) > 0 {
			hash := blobs.hash(c)
			raw = hash[:]
		}
		return c.Digest(), c.Problem(), raw
	}
	approvedBy, anchorBy, accepted := text(grantOut(r.ApprovedBy)), text(grantOut(r.AnchorBy)), text(findingsOut(r.Accepted))
	liveScan, evidence := text(verdictOut(r.LiveScan)), text(evidenceOut(r.Evidence))
	add := func(values ...any) { row.values = append(row.values, values...) }
	digest, problem, raw := contractOf(r.Approved)
	add(int(r.Status), string(digest), problem, raw, approvedBy)
	digest, problem, raw = contractOf(r.Anchor)
	add(string(digest), problem, raw, anchorBy, accepted)
	digest, problem, raw = contractOf(r.Live)
	add(string(digest), problem, raw, liveScan, string(r.Declined), r.Blocked, r.Absent, evidence)
	row.state = stateOf(r, approvedBy, anchorBy, accepted)
	if err != nil {
		return recordRow{}, fmt.Errorf("%s: %w", naming(r.Key), err)
	}
	return row, nil
}

// stateOf is the hash of everything about a record that decides whether it may be
// called. The audit entry of a transition holds it, so that a record which was
// changed without one is found. A verdict or evidence may be renewed without one.
func stateOf(r approval.Record, approvedBy, anchorBy, accepted string) [32]byte {
	var room [1 << 10]byte
	b := room[:0]
	for _, part := range []string{
		"holdfast record state v1", r.Key.Server, string(r.Key.Kind), r.Key.Name, strconv.Itoa(int(r.Status)),
		string(r.Approved.Digest()), approvedBy, string(r.Anchor.Digest()), anchorBy, accepted,
		string(r.Live.Digest()), string(r.Declined), strconv.FormatBool(r.Blocked), strconv.FormatBool(r.Absent),
	} {
		b = append(append(strconv.AppendInt(b, int64(len(part)), 10), ':'), part...)
	}
	return sha256.Sum256(b)
}

// naming names a record in a message.
func naming(k approval.Key) string {
	return fmt.Sprintf("%s %q of server %q", k.Kind, k.Name, k.Server)
}

// recordSelect selects the raw bytes of the three contracts, those of the anchor and
// the live one only where they are others than the approved one's.
const recordSelect = `SELECT r.place, r.server, r.kind, r.name, r.version, r.seq, r.state, r.status,
	r.approved, r.approved_problem, r.approved_raw, a.data, r.approved_by,
	r.anchor, r.anchor_problem, r.anchor_raw, b.data, r.anchor_by, r.accepted,
	r.live, r.live_problem, r.live_raw, l.data, r.live_scan, r.declined, r.blocked, r.absent, r.evidence
	FROM records r
	LEFT JOIN blobs a ON a.hash = r.approved_raw
	LEFT JOIN blobs b ON b.hash = r.anchor_raw AND b.hash IS NOT r.approved_raw
	LEFT JOIN blobs l ON l.hash = r.live_raw AND l.hash IS NOT r.approved_raw`

// storedContract is a contract as its columns hold it.
type storedContract struct {
	digest, problem string
	hash            []byte
	data            sql.RawBytes // until the next row is read
}

// restore gives the contract; one with the same bytes as like, or as one that is
// known, is not parsed again. Its bytes are checked in any case.
func (s storedContract) restore(like storedContract, c contract.Contract, known *parsed) (contract.Contract, error) {
	if len(s.hash) > 0 && string(s.hash) == string(like.hash) {
		if s.digest == like.digest && s.problem == like.problem {
			return c, nil
		}
		s.data = like.data
	}
	ref := record.Ref{Digest: contract.Digest(s.digest), Problem: s.problem, Bytes: len(s.data)}
	copy(ref.Raw[:], s.hash)
	if h := known.find(ref.Raw); ref.Bytes > 0 && h.Digest() == ref.Digest && h.Problem() == ref.Problem && sha256.Sum256(s.data) == ref.Raw {
		if !h.stored {
			known.keep(ref.Raw, h.Contract, true)
		}
		return h.Contract, nil
	}
	c, err := ref.Restore(s.data)
	if err == nil && ref.Bytes > 0 {
		known.keep(ref.Raw, c, true)
	}
	return c, err
}

// storedRecord is a record with what the store keeps beside it.
type storedRecord struct {
	approval.Record
	place  int64
	seq    int64
	stored []byte // hash of the state, as stored
	state  [32]byte
}

// recordReader reads records of one query. The zero value takes nothing from memory.
type recordReader struct {
	known *parsed

	// Records of one pass have many of their texts in common.
	approvedBy, anchorBy latest[grantRow]
	accepted             latest[[]findingRow]
	verdict              latest[verdictRow]
	evidence             latest[evidenceRow]
}

// latest is the text that was decoded last, with its value.
type latest[T any] struct {
	text  string
	value T
}

// decode reads a text. Its value may be that of another record too: what it holds is
// copied by who keeps it.
func (l *latest[T]) decode(text string) (T, error) {
	if text == l.text && text != "" {
		return l.value, nil
	}
	var value T
	if err := decode(text, &value); err != nil {
		return value, err
	}
	l.text, l.value = text, value
	return value, nil
}

// read reads the row that the query is at.
func (k *recordReader) read(rows *sql.Rows) (storedRecord, error) {
	var r storedRecord
	var status byte
	var approved, anchor, live storedContract
	var approvedBy, anchorBy, accepted, liveScan, evidence string
	err := rows.Scan(&r.place, &r.Key.Server, &r.Key.Kind, &r.Key.Name, &r.Version, &r.seq, &r.stored, &status,
		&approved.digest, &approved.problem, &approved.hash, &approved.data, &approvedBy,
		&anchor.digest, &anchor.problem, &anchor.hash, &anchor.data, &anchorBy, &accepted,
		&live.digest, &live.problem, &live.hash, &live.data, &liveScan, &r.Declined, &r.Blocked, &r.Absent, &evidence)
	if err != nil {
		return r, err
	}
	r.Status = approval.Status(status)
	damaged := func(err error) (storedRecord, error) {
		return r, fault.Wrap(err, fault.Corrupt, fmt.Sprintf("what is stored of %s does not verify: %v", naming(r.Key), err),
			"Restore the data directory from a backup, or remove the server and add it again.")
	}
	if r.Approved, err = approved.restore(storedContract{}, contract.Contract{}, k.known); err != nil {
		return damaged(err)
	}
	if r.Anchor, err = anchor.restore(approved, r.Approved, k.known); err != nil {
		return damaged(err)
	}
	if r.Live, err = live.restore(approved, r.Approved, k.known); err != nil {
		return damaged(err)
	}
	if err := k.texts(&r, approvedBy, anchorBy, accepted, liveScan, evidence); err != nil {
		return damaged(err)
	}
	r.state = stateOf(r.Record, approvedBy, anchorBy, accepted)
	return r, nil
}

// texts reads the columns that hold JSON.
func (k *recordReader) texts(r *storedRecord, approvedBy, anchorBy, accepted, liveScan, evidence string) error {
	by, err := k.approvedBy.decode(approvedBy)
	anchoredBy, err2 := k.anchorBy.decode(anchorBy)
	findings, err3 := k.accepted.decode(accepted)
	verdict, err4 := k.verdict.decode(liveScan)
	held, err5 := k.evidence.decode(evidence)
	if err := cmp.Or(err, err2, err3, err4, err5); err != nil {
		return err
	}
	r.ApprovedBy, r.AnchorBy, r.Accepted = approval.Grant(by), approval.Grant(anchoredBy), findingsIn(findings)
	r.LiveScan, r.Evidence = verdict.in(), held.in()
	return nil
}
