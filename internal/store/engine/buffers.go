package engine

import (
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// A batch's rows are some ten kilobytes. The driver would copy them twice, into buffers that it makes anew for each statement and each
// batch, and lets grow: half of all memory that a payment took. So rows are made in buffers that are used again, and each connection
// keeps one for what it sends.

// leastBuffer is above the size up to which the driver would keep a buffer of ours as its own (ExtendedQueryBuilder.reset, 256 bytes).
const leastBuffer = 4 << 10

// mostBuffer is the size from which a buffer is not kept.
const mostBuffer = 1 << 20

var buffers sync.Pool // of *[]byte

// newBuffer is an empty buffer with room for so many bytes.
func newBuffer(size int) []byte {
	if kept, ok := buffers.Get().(*[]byte); ok {
		if cap(*kept) >= size {
			return (*kept)[:0]
		}
		buffers.Put(kept)
	}
	return make([]byte, 0, max(size, leastBuffer))
}

// freeBuffer keeps a buffer for others. Nobody may use it any more.
func freeBuffer(b []byte) {
	if cap(b) >= leastBuffer && cap(b) <= mostBuffer {
		b = b[:0]
		buffers.Put(&b)
	}
}

// Free keeps the buffers of steps for others. The steps must not run again.
func Free(steps []Step) {
	for _, s := range steps {
		for _, arg := range s.Args {
			if r, ok := arg.(*binaryRows); ok {
				freeBuffer(r.b)
				r.b = nil
			}
		}
	}
}

// bytesOf is about how many bytes the driver sends for steps.
func bytesOf(steps []Step) int {
	const message, argument = 256, 128
	size := 0
	for _, s := range steps {
		size += message + argument*len(s.Args)
		for _, arg := range s.Args {
			switch arg := arg.(type) {
			case *binaryRows:
				size += len(arg.b)
			case string:
				size += len(arg)
			}
		}
	}
	return size
}

// roomKey is the key of a connection's buffer among its custom data.
const roomKey = "cascada.room"

// makeRoom gives a connection its buffer, with room for so many bytes. It is never the buffer of another connection, because the driver
// keeps it when little was sent.
func makeRoom(conn *pgconn.PgConn, size int) {
	mine, _ := conn.CustomData()[roomKey].([]byte)
	if cap(mine) < size {
		mine = make([]byte, 0, size+size/4)
		conn.CustomData()[roomKey] = mine
	}
	conn.Frontend().Send(&roomFor{mine})
}

// roomFor is a message without content. The driver adds what it sends to the buffer that the last message returned, so the next ones
// are in this one.
type roomFor struct{ buffer []byte }

// Frontend implements pgproto3.FrontendMessage.
func (*roomFor) Frontend() {}

// Decode implements pgproto3.Message; nobody sends this message.
func (*roomFor) Decode([]byte) error { return nil }

// Encode implements pgproto3.Message.
func (r *roomFor) Encode(sent []byte) ([]byte, error) { return append(r.buffer[:0], sent...), nil }
