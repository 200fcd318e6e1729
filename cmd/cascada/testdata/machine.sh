#!/bin/bash
# Boots this machine's systemd as process 1 of a second machine: with the same files, of which it changes only
# copies in memory, and the same network; everything else is separate. Root runs it in new namespaces:
#   unshare --mount --pid --fork --uts --ipc --cgroup --kill-child machine.sh DIR
# DIR is empty, and appears as /shared of the new machine.
set -euo pipefail
dir=$1
mount --make-rprivate /
mkdir "$dir/shared"
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys # the kernel is everybody's
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
mkdir shared
mount --bind "$dir/shared" shared
# An empty machine: without this machine's services, and without services that touch hardware or the clock.
rm -rf etc/systemd/system/*.wants var/lib/cascada var/lib/private/cascada etc/cascada
for unit in systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger systemd-remount-fs systemd-timesyncd \
    systemd-tmpfiles-clean systemd-random-seed systemd-update-utmp systemd-pstore e2scrub_reap getty@ console-getty; do
    ln -sf /dev/null "etc/systemd/system/$unit.service"
done
for mount in dev-hugepages sys-kernel-debug sys-kernel-tracing sys-fs-fuse-connections; do
    ln -sf /dev/null "etc/systemd/system/$mount.mount"
done
# A policy of the build machine must not keep packages from starting services.
rm -f usr/sbin/policy-rc.d
mkdir host
pivot_root . host
# systemd passes credentials by mounts that the whole machine can see.
exec /bin/bash -c 'umount -l /host && rmdir /host && mount --make-rshared / && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=drill \
    /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=no'
