package destination

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/sha3"
)

// ends shows the beginning and the end of an address, as wallets do.
func ends(s string) string { return s[:6] + "…" + s[len(s)-4:] }

// parseTron reads an address of TRON: base58check of 0x41 and 20 bytes.
func parseTron(text string) (normal, masked, wrong string) {
	if raw, ok := base58check(text); !ok || len(raw) != 21 || raw[0] != 0x41 {
		return "", "", "a TRON address: T and 33 more characters, with its checksum"
	}
	return text, ends(text), ""
}

// parseEthereum reads an address of Ethereum. Mixed case is a checksum (EIP-55) and must be
// right; an address in one case has no checksum and is accepted.
func parseEthereum(text string) (normal, masked, wrong string) {
	const want = "an Ethereum address: 0x and 40 hexadecimal digits; with a valid checksum if upper and lower case are mixed"
	plain, ok := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(plain)
	if !ok || err != nil || len(raw) != 20 || bytes.Equal(raw, make([]byte, 20)) {
		return "", "", want
	}
	lower := strings.ToLower(plain)
	checked := eip55(lower)
	if plain != lower && plain != strings.ToUpper(plain) && plain != checked {
		return "", "", want
	}
	return "0x" + checked, ends("0x" + checked), ""
}

// eip55 writes 40 lower-case hexadecimal digits with a checksum in their case:
// a letter is upper-case where the same digit of the hash is 8 or more.
func eip55(lower string) string {
	keccak := sha3.NewLegacyKeccak256() // Ethereum's variant: SHA-3 before NIST changed the padding
	keccak.Write([]byte(lower))
	hash := keccak.Sum(nil)
	out := []byte(lower)
	for i, c := range out {
		if c >= 'a' && hash[i/2]>>(4*(1-i%2))&15 >= 8 {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}

// parseBitcoin reads an address of Bitcoin's main network: base58check
// (pay-to-key-hash, pay-to-script-hash) or bech32 and bech32m (segwit).
func parseBitcoin(text string) (normal, masked, wrong string) {
	if raw, ok := base58check(text); ok && len(raw) == 21 && (raw[0] == 0 || raw[0] == 5) {
		return text, ends(text), ""
	}
	if lower := strings.ToLower(text); (text == lower || text == strings.ToUpper(text)) && segwit(lower) {
		return lower, ends(lower), ""
	}
	return "", "", "an address of Bitcoin's main network, with its checksum"
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58check decodes 25 bytes, of which the last four are the checksum of the
// others, and returns those.
func base58check(text string) ([]byte, bool) {
	var out [25]byte
	if len(text) < 25 || len(text) > 35 {
		return nil, false
	}
	for i := range len(text) {
		carry := strings.IndexByte(base58Alphabet, text[i])
		if carry < 0 {
			return nil, false
		}
		for j := len(out) - 1; j >= 0; j-- {
			carry += int(out[j]) * 58
			out[j] = byte(carry)
			carry >>= 8
		}
		if carry > 0 {
			return nil, false
		}
	}
	// A leading zero byte is always written as a 1.
	ones := len(text) - len(strings.TrimLeft(text, "1"))
	zeros := len(out) - len(bytes.TrimLeft(out[:], "\x00"))
	first := sha256.Sum256(out[:21])
	second := sha256.Sum256(first[:])
	return out[:21], ones == zeros && bytes.Equal(second[:4], out[21:])
}

const bech32Alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// segwit reports whether s is a witness program of the main network (BIP 173
// and, from version 1 on, BIP 350).
func segwit(s string) bool {
	data, ok := strings.CutPrefix(s, "bc1")
	if !ok || len(data) < 8 || len(s) > 90 {
		return false
	}
	values := []byte{3, 3, 0, 2, 3} // "bc", expanded
	for i := range len(data) {
		v := strings.IndexByte(bech32Alphabet, data[i])
		if v < 0 {
			return false
		}
		values = append(values, byte(v))
	}
	version, bits := values[5], 5*(len(data)-7)
	program, padding := bits/8, bits%8
	last := values[len(values)-7] // the last of the program, whose padding is zero
	if version > 16 || program < 2 || program > 40 || padding >= 5 || last&(1<<padding-1) != 0 {
		return false
	}
	sum := polymod(values)
	if version == 0 {
		return sum == 1 && (program == 20 || program == 32)
	}
	return sum == 0x2bc830a3
}

// polymod is the checksum of bech32.
func polymod(values []byte) uint32 {
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}
