"""What `plan` refuses on the command line."""

import pytest
from tests.cli.prompt import ask


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((), "no workload"),
        (("--concurrency", "4"), "no workload"),
        (("--read-size", "32k"), "no rate: give --reads"),
        (("--reads", "-5"), "is not a rate"),
        (("--reads", "nan"), "is not a rate"),
        (("--reads", "0"), "every rate is 0"),
        (("--reads", "0", "--operation", "GETATTR=0", "--mix"), "every rate is 0"),
        (("--reads", "5", "--target", "nan"), "'nan' is not a number in the range 0.0001<=x<=1"),
        (("--reads", "5", "--concurrency", "inf"), "not in the range"),
        (("--reads", "5", "--concurrency", "4"), "--concurrency needs --latency"),
        (("--reads", "1e400"), "is not a rate"),
        (("--reads", "5", "--read-size", "0"), "more than nothing"),
        (("--reads", "5", "--read-size", "4 parsecs"), "is not a size"),
        (("--reads", "5", "--read-bandwidth", "1GB/s"), "both state the reads"),
        (("--writes", "5", "--write-bandwidth", "1GB/s"), "both state the writes"),
        (("--reads", "5", "--write-size", "4k"), "--write-size goes with --writes or --write-bandwidth"),
        (("--operation", "GETATTR=5", "--read-size", "4k"), "--read-size goes with --reads or --read-bandwidth"),
        (("--read-bandwidth", "fast"), "is not a bandwidth"),
        (("--read-bandwidth", "500"), "'500' has no unit. Write it like 500MB/s"),
        (("--operation", "GETATTR"), "write it like GETATTR=5000"),
        (("--operation", "READ=5"), "READ costs by its size"),
        (("--operation", "FROB=5"), "FROB is no operation of NFSv3"),
        (("--reads", "5", "--latency", "2"), "is not a length of time"),
        (("--reads", "5", "--latency", "0ms"), "is not a length of time"),
        (("--reads", "5", "--target", "0"), "not in the range"),
        (("--reads", "5", "--nconnect", "17"), "not in the range"),
        (("--reads", "5", "--shape", "huge"), "is not one of"),
        (("--reads", "5", "--prometheus", "http://host"), "more than one workload"),
        (("--reads", "5", "--address", "10.0.0.1"), "--address goes with a recorded load"),
        (("--reads", "5", "--mountinfo", "x"), "goes with --mountstats"),
        (("--prometheus", "host:9090"), "give a URL like"),
        (("--reads", "5", "--what-if", "nconnect"), "write it like nconnect=16"),
        (("--reads", "5", "--what-if", "nconnect=64"), "64 is not in the range 1<=x<=16"),
        (("--reads", "5", "--what-if", "nconnect=0"), "0 is not in the range"),
        (("--reads", "5", "--what-if", "nconnect=many"), "not a valid integer"),
        (("--reads", "5", "--what-if", "target=2"), "2.0 is not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--what-if", "concurrency=inf"), "not in the range"),
        (("--reads", "5", "--what-if", "concurrency=1e308"), "not in the range"),
        (("--reads", "5", "--target", "1e-300"), "not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--latency", "1s", "--concurrency", "1e-300"), "not in the range 0.0001<=x"),
        (("--reads", "5", "--what-if", "target=1e-300"), "not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--what-if", f"clients={'9' * 400}"), "not in the range"),
        (("--reads", "5", "--clients", "9" * 400), "not in the range"),
        (("--read-size", "1", "--concurrency", "1e308", "--latency", "1us"), "not in the range"),
        (("--reads", "5", "--what-if", "latency=slow"), "is not a length of time"),
        (("--reads", "5", "--what-if", "shape=none"), "not a shape"),
        (("--reads", "5", "--what-if", "luck=7"), "known are nconnect"),
        (("--reads", "5", "--what-if", "client-bandwidth=0MB/s"), "must be more than 0"),
        (("--reads", "5", "--clients", "1", "--client-bandwidth", "0MB/s"), "must be more than 0"),
        (("--reads", "5", "--what-if", "mount-targets=0"), "0 is not in the range 1<=x<=1000"),
        (("--reads", "5", "--mount-targets", "0"), "not in the range"),
        (("--reads", "5", "--files", "5", "--bytes", "5"), "both state the job"),
        (("--read-size", "4k", "--files", "5"), "--files needs operations of one file"),
        (("--operation", "GETATTR=1", "--bytes", "1GiB"), "reads and writes nothing"),
        (("--reads", "5", "--bytes", "0"), "more than nothing"),
        (("--reads", "5", "--mix", "--files", "5"), "give one"),
        (("--reads", "5", "--mix"), "--mix needs rates"),
        (("--reads", "5", "--mix", "--concurrency", "5"), "--mix needs rates"),
    ],
)
def test_what_cannot_be_planned_says_why(flags: tuple[str, ...], why: str) -> None:
    answer = ask("plan", *flags)
    assert answer.code == 2
    assert answer.out == ""
    assert why in " ".join(answer.err.split())
