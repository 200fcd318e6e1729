package providertest

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"hash"
	"net/http"
	"sync"

	"github.com/cascadapay/cascada/internal/provider"
)

// Key is an RSA key used instead of a provider's, made once for all tests.
var Key = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// PublicKey is the Key's public half in PEM.
func PublicKey() string {
	der, err := x509.MarshalPKIXPublicKey(&Key().PublicKey)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// Signed is the Key's signature (RSA, PKCS #1 v1.5) of a body, in Base64.
func Signed(by crypto.Hash, body []byte) string {
	sum := by.New()
	sum.Write(body)
	signature, err := rsa.SignPKCS1v15(nil, Key(), by, sum.Sum(nil))
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// MAC is the HMAC of texts, one after the other.
func MAC(by func() hash.Hash, secret string, texts ...string) []byte {
	mac := hmac.New(by, []byte(secret))
	for _, text := range texts {
		mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}

// Notify is a notification of a content type with headers: name, value, name, value.
func Notify(kind string, body []byte, headers ...string) provider.Notification {
	n := provider.Notification{Header: http.Header{"Content-Type": {kind}}, Body: body}
	for i := 0; i+1 < len(headers); i += 2 {
		n.Header.Set(headers[i], headers[i+1])
	}
	return n
}
