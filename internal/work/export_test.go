package work

// Keys returns how many keys are in use.
func (t *Turns) Keys() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of)
}
