// Package docs proves that what is published is true: the OpenAPI documents, their examples, the reference, snippets,
// and what replies say of mistakes. That the service keeps each promise is seen by all rooms.
package docs
