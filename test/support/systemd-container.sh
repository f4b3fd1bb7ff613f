#!/bin/bash
# Boots a real systemd in namespaces of its own, without an image: its root is in memory, with this machine's /usr read-only, so that
# nothing of the machine can be changed from inside. It needs root, and the packages systemd and util-linux.
#
#   systemd-container.sh start FOLDER BINARY   runs until it is killed; FOLDER is an empty folder for its mounts
#   systemd-container.sh clean FOLDER          removes its control groups after that
set -euo pipefail

# The control groups of the container are below this one, in the second version of their file system.
in_control_groups() {
  exec unshare --mount bash -c 'mount -t cgroup2 cgroup2 "$1/groups"; shift; "$@"' bash "$folder" "$@"
}

start() {
  mkdir -p "$folder/groups" "$folder/root"
  in_control_groups bash "$0" enter "$folder" "$binary"
}

enter() {
  mkdir "$folder/groups/$group"
  echo $$ > "$folder/groups/$group/cgroup.procs"
  exec unshare --pid --fork --kill-child --uts --ipc --net --cgroup bash "$0" boot "$folder" "$binary"
}

clean() {
  in_control_groups find "$folder/groups/$group" -depth -type d -exec rmdir {} \;
}

boot() {
  mount --make-rprivate /
  mount -t tmpfs -o mode=755 tmpfs "$folder/root"
  cd "$folder/root"
  mkdir -p usr etc/systemd/system var/log var/tmp run tmp dev proc sys srv/node opt/node root old
  chmod 1777 tmp var/tmp
  mount --bind /usr usr
  mount -o remount,bind,ro usr
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
  ln -s ../run var/run
  cp /etc/ld.so.cache /etc/nsswitch.conf etc/
  printf 'root:x:0:0::/root:/bin/sh\nnode:x:990:990::/srv/node:/usr/sbin/nologin\n' > etc/passwd
  printf 'root:x:0:\nnode:x:990:\nsystemd-journal:x:101:\nadm:x:4:\ntty:x:5:\n' > etc/group
  tr -d - < /proc/sys/kernel/random/uuid > etc/machine-id
  devices
  mount -t proc proc proc
  mount --bind proc/sys proc/sys
  mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs run
  cp "$binary" opt/node/node-server
  chown -R 990:990 srv/node opt/node
  for unit in systemd-sysctl systemd-udevd systemd-udev-trigger systemd-modules-load; do
    ln -s /dev/null "etc/systemd/system/$unit.service"
  done
  printf '[Unit]\nDefaultDependencies=no\nRequires=systemd-journald.socket\n' > etc/systemd/system/test.target
  pivot_root . old
  cd /
  umount -l /old
  exec env -i PATH=/usr/sbin:/usr/bin container=other /usr/lib/systemd/systemd --system --unit=test.target
}

devices() {
  mount -t tmpfs -o mode=755 tmpfs dev
  for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
  done
  mkdir dev/shm dev/pts dev/mqueue
  ln -s null dev/console
  ln -s /proc/self/fd dev/fd
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  mount -t tmpfs tmpfs dev/shm
  mount -t mqueue mqueue dev/mqueue
}

action=$1 folder=$2 binary=${3-}
group=$(basename "$folder")
"$action"
