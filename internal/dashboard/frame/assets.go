package frame

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file with its name in pages, which changes with its contents.
type asset struct {
	path   string
	kind   string
	body   []byte
	zipped []byte // nil if it would not be shorter
}

// kinds are the types of assets. Other files, such as licences, are not served.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// assets are all assets, by their names without directories. build changes with any of them.
type assets struct {
	files map[string]*asset
	build string
}

// readAssets reads and compresses the assets. It does so once in a process: nobody changes them.
var readAssets = sync.OnceValues(func() (assets, error) {
	all, together := map[string]*asset{}, sha256.New()
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		kind, served := kinds[path.Ext(name)]
		if err != nil || d.IsDir() || !served {
			return err
		}
		body, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		_, _ = together.Write(sum[:]) // a hash takes all
		a := &asset{path: "/dashboard/assets/" + hex.EncodeToString(sum[:6]) + "-" + path.Base(name), kind: kind, body: body}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if b.Len() < len(body) {
			a.zipped = b.Bytes()
		}
		all[path.Base(name)] = a
		return nil
	})
	return assets{all, hex.EncodeToString(together.Sum(nil)[:6])}, err
})

// Assets registers the assets. Their names change with their contents, so that browsers keep them forever.
func (f *Frame) Assets(mux *http.ServeMux) {
	for _, a := range f.assets {
		mux.HandleFunc("GET "+a.path, func(w http.ResponseWriter, r *http.Request) {
			h, body := w.Header(), a.body
			h.Set("Content-Type", a.kind)
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Vary", "Accept-Encoding")
			if a.zipped != nil && zips(r) {
				h.Set("Content-Encoding", "gzip")
				body = a.zipped
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		})
	}
}

// zips reports whether a browser takes gzip.
func zips(r *http.Request) bool {
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(name, "gzip") && quality != "q=0" {
			return true
		}
	}
	return false
}
