"""The kernel lab: agents on real kernels in QEMU, beside an NFS server and a packet capture, which is the truth."""
