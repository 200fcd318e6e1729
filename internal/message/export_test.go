package message

// Catalog, In and Places are for the test that holds the catalog to the reasons, which must be outside of this package.
var (
	Catalog = catalog
	Places  = places
	Files   = texts
)

// Texts are an entry's sentences: the API's, and the pages' by language.
func (e entry) Texts() (api string, pages map[string]string) {
	return e.API, map[string]string{"en": e.in("en"), "es": e.ES, "pt": e.PT}
}
