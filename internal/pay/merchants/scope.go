package merchants

import "github.com/cascadapay/cascada/internal/pay/problem"

// Scope says whose data may be seen. Every read that a merchant can reach has it as a parameter
// after ctx, so that a forgotten check of tenant or environment does not compile.
type Scope struct {
	Merchant string
	Shop     string
	Live     bool
}

// Environment is production or the sandbox, which never mix (SVC-3).
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

// NoSimulation is the error for a simulation in production. param is the header that asks for it; "" if the operation itself
// does.
func NoSimulation(param string) error {
	return problem.Field(problem.ProductionKeyRefused, param, sandboxOnly)
}
