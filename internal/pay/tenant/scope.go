package tenant

// Scope says whose data may be seen. It follows ctx in every read that a
// merchant can reach, so that a forgotten tenant or environment check does not
// compile.
type Scope struct {
	Merchant string
	Shop     string
	Live     bool
}

// Environment names the two worlds that never mix (SVC-3).
type Environment string

// The two environments.
const (
	Sandbox    Environment = "sandbox"
	Production Environment = "production"
)

// EnvironmentOf returns the environment's name.
func EnvironmentOf(live bool) Environment {
	if live {
		return Production
	}
	return Sandbox
}

// Environment returns the name of the scope's environment.
func (s Scope) Environment() Environment { return EnvironmentOf(s.Live) }
