package sqlite

// MinSize is the minimum size in bytes of a database that is not empty: one page
// of the smallest size. SQLite itself takes a file of one byte for an empty one.
const MinSize = 512
