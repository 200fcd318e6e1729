package daemon

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// The kernel knows that the heap wants pages of 2 MB: "hg" in VmFlags, see proc_pid_smaps(5).
func TestHeapAsksForLargePages(t *testing.T) {
	if err := growHeap(8 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		return // the kernel has none, and nothing changes
	}
	within := uintptr(unsafe.Pointer(&make([]byte, 1<<20)[0]))
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	mine := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		var start, end uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x", &start, &end); n == 2 {
			mine = start <= within && within < end
		}
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && mine {
			if !strings.Contains(flags, " hg") {
				t.Errorf("the heap's flags are %q, without hg", flags)
			}
			return
		}
	}
	t.Error("the heap is in none of the mappings")
}
