#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the seed corpora of the frame, payload and pcap targets.

The seeds are committed; run this again after a change of the wire format. Frames
and files come from the captures of kernel soft-RoCE in tests/data.
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "data" / "captures"


def frames(name):
    data = (CAPTURES / name).read_bytes()
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def frame_seeds():
    for name, picks in (("udvec_v4.pcap", (1, 11, 12, 14, 20, 23)),
                        ("udvec_v6.pcap", (1, 11, 13, 20, 21)),
                        ("udvec_ll6.pcap", (15,))):
        for n, frame in enumerate(frames(name), 1):
            if n in picks:
                put("frame", f"{name[:-5]}_{n}", frame)
    good = next(frames("udvec_v4.pcap"))
    put("frame", "vlan", good[:12] + b"\x81\x00\x60\x64" + good[12:])
    put("frame", "arp", good[:12] + b"\x08\x06" + bytes(28))
    mapped = bytearray(next(frames("udvec_v6.pcap")))
    mapped[22:38] = bytes(10) + b"\xff\xff\x0a\x00\x00\x01"
    put("frame", "mapped", bytes(mapped))


def payload_seeds():
    body = struct.pack(">QQQQ", 0x0123456700000001, 10**9, 2 * 10**9, 2 * 10**9 + 500)
    for name, head, ext in (("probe", b"\1\0\0\0", 0), ("probe_ext", b"\1\0\0\1", 0x4001),
                            ("ack1", b"\1\1\1\3", 0xCAFEBABE), ("ack2", b"\1\1\2\0", 0),
                            ("version2", b"\2\0\0\0", 0)):
        put("payload", name, head + body + struct.pack(">I", ext))
    put("payload", "padded", b"\1\0\0\4" + body + bytes(4) + bytes(range(64)))
    put("payload", "short", body[:20])


def pcap_seeds():
    data = (CAPTURES / "ud_pingpong_v4.pcap").read_bytes()
    put("pcap", "little_us", data[:24 + 2 * (16 + 166)])
    put("pcap", "cut", data[:24 + 16 + 80])
    put("pcap", "header_only", data[:24])
    put("pcap", "pcapng", struct.pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4D) + bytes(16))
    record = struct.pack(">IIII", 1700000000, 5, 4, 4) + b"abcd"
    put("pcap", "big_ns", struct.pack(">IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + record)


if __name__ == "__main__":
    frame_seeds()
    payload_seeds()
    pcap_seeds()
