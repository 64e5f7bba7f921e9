#!/bin/bash
# PID 1 of a host, in namespaces of its own: makes its file system, then runs its sshd.
# Files that the host writes are in DIR/NAME/disk, a file system of limited size.
set -e
dir=$1 name=$2 shift=$3
root=$dir/$name/root disk=$dir/$name/disk
hostname "$name"
mkdir -p "$disk/upper" "$disk/work"
mount -t overlay "$name" -o "lowerdir=/,upperdir=$disk/upper,workdir=$disk/work" "$root"
mount -t proc proc "$root/proc"
cat /proc/sys/kernel/random/uuid > "$dir/$name/boot_id"
mount --bind "$dir/$name/boot_id" "$root/proc/sys/kernel/random/boot_id"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
for place in dev/shm run tmp; do mount -t tmpfs -o size=512m tmpfs "$root/$place"; done
chmod 1777 "$root/tmp" "$root/dev/shm"
mkdir -p "$root/run/sshd" "$root/run/user"

# The hosts know each other and the machine of the tester ("hub") by name.
cat "$dir/hosts" > "$root/etc/hosts"
echo "$name" > "$root/etc/hostname"
if [ ! -e "$root/etc/ssh/sshd_config.hosts" ]; then
  # The first boot: accounts without the tester's files. "*": no password, and not locked.
  groupadd() { echo "$1:x:$2:$3" >> "$root/etc/group"; }
  groupadd fuzzers 3100 fuzz,ann
  for user in fuzz:3001 ann:3002 bob:3003; do
    groupadd "${user%:*}" "${user#*:}" ""
    echo "${user%:*}:*:${user#*:}:${user#*:}::/home/${user%:*}:/bin/bash" >> "$root/etc/passwd"
    mkdir -p "$root/home/${user%:*}/.ssh"
    cp "$dir/id.pub" "$root/home/${user%:*}/.ssh/authorized_keys"
    chown -R "${user#*:}:${user#*:}" "$root/home/${user%:*}"
    chmod 700 "$root/home/${user%:*}" "$root/home/${user%:*}/.ssh"
  done
  rm -rf "$root/root/.ssh"
  mkdir -m 700 "$root/root/.ssh"
  cp "$dir/id.pub" "$root/root/.ssh/authorized_keys"
  rm -rf "$root"/etc/ssh/ssh_host_* "$root/etc/ssh/sshd_config.d"
  cp "$dir/$name/key" "$root/etc/ssh/ssh_host_ed25519_key"
  chown root: "$root/etc/ssh/ssh_host_ed25519_key"
  chmod 600 "$root/etc/ssh/ssh_host_ed25519_key"
  printf '%s\n' 'Port 22' 'HostKey /etc/ssh/ssh_host_ed25519_key' 'UsePAM no' \
    'PermitRootLogin prohibit-password' 'PasswordAuthentication no' 'PidFile /run/sshd.pid' \
    'Subsystem sftp internal-sftp' > "$root/etc/ssh/sshd_config.hosts"
  if [ "$shift" != 0 ]; then
    cp "$dir/shift.so" "$root/usr/lib/fuzztui-shift.so"
    chmod 755 "$root/usr/lib/fuzztui-shift.so"
    echo "SetEnv LD_PRELOAD=/usr/lib/fuzztui-shift.so FUZZTUI_TEST_SHIFT=$shift" \
      >> "$root/etc/ssh/sshd_config.hosts"
  fi
fi
# Bash stays PID 1: it reaps what daemons leave behind.
exec chroot "$root" /bin/bash -c \
  '/usr/sbin/sshd -D -e -f /etc/ssh/sshd_config.hosts & wait; exit 0'
