#!/bin/sh
# An NFS server in the network and mount namespace of the caller, with two exports in memory. $1: seconds of grace.
set -eu
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /run/rpcbind /run/lock
touch /var/lib/nfs/state /var/lib/nfs/etab /var/lib/nfs/rmtab
chown -R statd /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/state
for name in a b; do
    mkdir -p "/export/$name"
    mount -t tmpfs tmpfs "/export/$name"
done
mount -t nfsd nfsd /proc/fs/nfsd
printf '/export/a *(rw,sync,no_root_squash,insecure,no_subtree_check,fsid=101)\n' >/etc/exports
printf '/export/b *(rw,sync,no_root_squash,insecure,no_subtree_check,fsid=102)\n' >>/etc/exports
rpcbind
rpc.statd --no-notify
exportfs -ra
echo 1048576 >/proc/fs/nfsd/max_block_size 2>/dev/null || true
echo "$1" >/proc/fs/nfsd/nfsv4gracetime
rpc.nfsd 4
rpc.mountd
touch "$2"
exec sleep infinity
