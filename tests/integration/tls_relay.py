#!/usr/bin/env python3
"""Takes TLS connections on a port of 127.0.0.1 and hands them on, without TLS, to another one.

tls_relay.py CERTIFICATE KEY PORT TARGET_PORT; prints "ready" when it listens. Lives until it is killed.
"""
import contextlib
import socket
import ssl
import sys
import threading


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def main() -> None:
    certificate, key, port, target = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", int(port))) as listener:
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with contextlib.suppress(OSError):  # no TLS, or nobody listens there yet
                outside = context.wrap_socket(connection, server_side=True)
                inside = socket.create_connection(("127.0.0.1", int(target)))
                for ends in ((outside, inside), (inside, outside)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()


main()
