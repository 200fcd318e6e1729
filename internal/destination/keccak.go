package destination

import (
	"encoding/binary"
	"math/bits"
)

// keccak256 is the hash that Ethereum uses. It is SHA-3 before NIST changed the
// padding, which is why crypto/sha3 cannot make it. data has at most 135 bytes:
// one block is all that an address needs.
func keccak256(data []byte) [32]byte {
	const rate = 136
	if len(data) >= rate {
		panic("destination: keccak256 of more than a block")
	}
	var block [rate]byte
	copy(block[:], data)
	block[len(data)] ^= 0x01
	block[rate-1] ^= 0x80
	var state [25]uint64
	for i := range rate / 8 {
		state[i] = binary.LittleEndian.Uint64(block[8*i:])
	}
	keccakF(&state)
	var hash [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(hash[8*i:], state[i])
	}
	return hash
}

// keccakF is the permutation Keccak-f[1600] (FIPS 202, 3.2 and 3.3).
func keccakF(a *[25]uint64) {
	lfsr := byte(1)
	for range 24 {
		// θ
		var c [5]uint64
		for x := range 5 {
			c[x] = a[x] ^ a[x+5] ^ a[x+10] ^ a[x+15] ^ a[x+20]
		}
		for x := range 5 {
			d := c[(x+4)%5] ^ bits.RotateLeft64(c[(x+1)%5], 1)
			for y := range 5 {
				a[x+5*y] ^= d
			}
		}
		// ρ and π
		x, y, moving := 1, 0, a[1]
		for t := range 24 {
			x, y = y, (2*x+3*y)%5
			moving, a[x+5*y] = a[x+5*y], bits.RotateLeft64(moving, (t+1)*(t+2)/2)
		}
		// χ
		for y := range 5 {
			row := [5]uint64(a[5*y : 5*y+5])
			for x := range 5 {
				a[x+5*y] = row[x] ^ ^row[(x+1)%5]&row[(x+2)%5]
			}
		}
		// ι
		for j := range 7 {
			if lfsr&1 == 1 {
				a[0] ^= 1 << (1<<j - 1)
			}
			lfsr = lfsr<<1 ^ lfsr>>7*0x71
		}
	}
}
