package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files that prove the others.
const (
	sums      = "SHA256SUMS"
	signature = "SHA256SUMS.sig" // Base64 of an ECDSA signature of SHA256SUMS: what cosign calls a signature of a blob
	publicKey = "cascada.pub"
)

// checksums lists the files with their checksums, and signs the list if there is a key.
func (r *release) checksums() error {
	if r.key != nil {
		text, err := publicPEM(r.key)
		if err != nil {
			return err
		}
		if err := r.write(publicKey, text); err != nil {
			return err
		}
	}
	list, err := listSums(r.out)
	if err != nil {
		return err
	}
	if err := r.write(sums, list); err != nil {
		return err
	}
	if r.key == nil {
		return nil
	}
	signed, err := sign(r.key, list)
	if err != nil {
		return err
	}
	return r.write(signature, signed)
}

// listSums returns the checksums of a directory's files in the form of sha256sum, in the order of their names.
func listSums(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, e := range entries {
		if e.Name() == sums || e.Name() == signature {
			continue
		}
		sum, err := sumOf(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, e.Name())
	}
	return list.Bytes(), nil
}

func sumOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// sign signs a text. The same text and key give the same signature (RFC 6979).
func sign(key *ecdsa.PrivateKey, text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	signed, err := key.Sign(nil, sum[:], crypto.SHA256)
	return []byte(base64.StdEncoding.EncodeToString(signed) + "\n"), err
}

// verify reports whether a text was signed with the private half of a key.
func verify(public, text, signed []byte) error {
	block, _ := pem.Decode(public)
	if block == nil {
		return errors.New("the public key is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return err
	}
	ec, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return errors.New("the public key is not ECDSA")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(signed)))
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(text); !ecdsa.VerifyASN1(ec, sum[:], raw) {
		return errors.New("the signature is wrong")
	}
	return nil
}

// readKey reads a private key: what `openssl genpkey` and `openssl ecparam -genkey` write.
func readKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type {
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		default:
			continue // parameters of the curve
		}
		if err != nil {
			return nil, fmt.Errorf("the key: %w", err)
		}
		if ec, ok := key.(*ecdsa.PrivateKey); ok && ec.Curve == elliptic.P256() {
			return ec, nil
		}
		return nil, errors.New("the key is not of ECDSA on P-256, which openssl and cosign verify everywhere")
	}
	return nil, errors.New("the key's file has no unencrypted private key in PEM: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 makes one")
}

func publicPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}
