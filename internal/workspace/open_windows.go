package workspace

// nonblock is nothing here: there are no named pipes in folders.
const nonblock = 0
