package fault

// far is the Distance of texts that are too long to be compared.
const far = 64

// Distance is the number of bytes to insert, drop, change or swap with their
// neighbour that lead from a to b: for a hint that names what was probably meant.
// Of a text over 64 bytes it is 64, so that foreign text costs nothing.
func Distance(a, b string) int {
	if len(a) > far || len(b) > far {
		return far
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
