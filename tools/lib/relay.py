#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forward frames between two interfaces and impair some of them, every Nth of a kind.

relay.py IF_A IF_B [DIRECTION.KIND.FAULT=N[:MS]]...

    DIRECTION  ab, ba: from IF_A to IF_B, and back
    KIND       probe, ack1, ack2, any: RoCEv2 frames with our payload
    FAULT      drop, dup (a second copy), late (MS milliseconds later, 700), swap (behind the next one)

Other frames pass. Deterministic: counts, not chances.
"""

import heapq
import select
import signal
import socket
import sys
import time

UDP_PORT = b"\x12\xb7"
PAYLOAD = 14 + 20 + 8 + 12 + 8  # Ethernet, IPv4, UDP, BTH, DETH


def kind_of(frame):
    if len(frame) < PAYLOAD + 40 or frame[12:14] != b"\x08\x00" or frame[36:38] != UDP_PORT:
        return None
    msg_type, ack_type = frame[PAYLOAD + 1], frame[PAYLOAD + 2]
    return "probe" if msg_type == 0 else "ack1" if ack_type == 1 else "ack2"


class Direction:
    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.rules = []  # [kind, fault, every, ms, seen]
        self.held = None

    def faults(self, frame):
        kind = kind_of(frame)
        hit = {}
        for rule in self.rules:
            if kind is None or rule[0] not in (kind, "any"):
                continue
            rule[4] += 1
            if rule[4] % rule[2] == 0:
                hit[rule[1]] = rule[3]
        return hit


def open_port(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((name, 0))
    s.setblocking(False)
    return s


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    a, b = open_port(sys.argv[1]), open_port(sys.argv[2])
    ways = {"ab": Direction(a, b), "ba": Direction(b, a)}
    for text in sys.argv[3:]:
        name, value = text.split("=")
        direction, kind, fault = name.split(".")
        every, _, ms = value.partition(":")
        ways[direction].rules.append([kind, fault, int(every), int(ms or 700), 0])
    queue, order = [], 0
    while True:
        wait = max(0, queue[0][0] - time.monotonic()) if queue else 1
        ready, _, _ = select.select([a, b], [], [], wait)
        while queue and queue[0][0] <= time.monotonic():
            _, _, sink, frame = heapq.heappop(queue)
            sink.send(frame)
        for way in ways.values():
            if way.source not in ready:
                continue
            try:
                frame, address = way.source.recvfrom(65535)
            except BlockingIOError:
                continue
            # The socket also sees what others send on its interface.
            if address[2] == socket.PACKET_OUTGOING:
                continue
            hit = way.faults(frame)
            if "drop" in hit:
                continue
            if "swap" in hit and way.held is None:
                way.held = frame
                continue
            if "late" in hit:
                order += 1
                heapq.heappush(queue, (time.monotonic() + hit["late"] / 1000, order, way.sink, frame))
            else:
                way.sink.send(frame)
            if "dup" in hit:
                way.sink.send(frame)
            if way.held is not None:
                way.sink.send(way.held)
                way.held = None


if __name__ == "__main__":
    main()
