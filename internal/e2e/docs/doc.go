// Package docs proves that what is published is true: the OpenAPI documents, their examples, the
// reference, the snippets in pages, and what replies say about mistakes. All rooms together prove
// that the service keeps each promise of the documents.
package docs
