package limit

// Len counts the buckets that are kept.
func (l *Local) Len() int {
	n := 0
	for i := range l.shards {
		l.shards[i].mu.Lock()
		n += len(l.shards[i].full)
		l.shards[i].mu.Unlock()
	}
	return n
}
