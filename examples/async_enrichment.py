"""Enriches orders with the names of their customers, which a web service knows.

The service is a small HTTP server that this program starts on the loopback address. It answers slowly, is busy now and
then, and does not know everybody; the job asks for many customers at a time, repeats what the service was too busy
for, and says so where it got no answer in time.

    funke run examples/async_enrichment.py
"""

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from pyflink.datastream.async_retry_predicates import has_exception_predicate

CUSTOMERS = {1: "Ada", 2: "Grace", 3: "Edsger", 4: "Barbara", 5: "Donald"}
SLEEPY = 5  # the service takes forever to find this customer
BUSY = 3  # the service is too busy when it is asked for this one the first time
UNKNOWN = 9
times_asked = Counter()
# Order, customer, amount.
ORDERS = [
    (100, 1, 25.0),
    (101, 2, 13.5),
    (102, 3, 99.9),
    (103, 1, 7.0),
    (104, SLEEPY, 42.0),
    (105, UNKNOWN, 1.0),
    (106, 4, 18.2),
    (107, 2, 64.0),
]


class CustomerService(BaseHTTPRequestHandler):
    """Answers `GET /customers/<id>`."""

    def do_GET(self):
        customer = int(self.path.rpartition("/")[2])
        times_asked[customer] += 1
        time.sleep(10 if customer == SLEEPY else 0.05)
        if customer == BUSY and times_asked[customer] == 1:
            self.answer(503, {"error": "busy"})
        elif customer in CUSTOMERS:
            self.answer(200, {"name": CUSTOMERS[customer]})
        else:
            self.answer(404, {"error": "unknown"})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class ServiceBusy(Exception):
    pass


class FindCustomer(AsyncFunction):
    """Asks the service for the customer of an order; many requests are under way at a time."""

    def __init__(self, port):
        self.port = port

    async def async_invoke(self, order):
        number, customer, amount = order
        status, content = await self.get(f"/customers/{customer}")
        if status == 503:
            raise ServiceBusy(f"no answer for order {number}")
        return [(number, content.get("name", "an unknown customer"), amount)]

    async def get(self, path):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            await writer.drain()
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        return int(head.split()[1]), json.loads(body)

    def timeout(self, order):
        number, customer, amount = order
        return [(number, f"customer {customer}, whose name came too late", amount)]


def main(argv=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), CustomerService)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    order_type = Types.TUPLE([Types.INT(), Types.INT(), Types.DOUBLE()])
    orders = env.from_collection(ORDERS, type_info=order_type)
    enriched = AsyncDataStream.ordered_wait_with_retry(
        orders,
        FindCustomer(server.server_port),
        timeout=Time.seconds(2),
        async_retry_strategy=AsyncRetryStrategy.fixed_delay(3, 100, None, has_exception_predicate),
        capacity=20,
        output_type=Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]),
    ).name("find-customer")
    enriched.map(lambda order: f"order {order[0]} of {order[1]}: {order[2]:.2f}", Types.STRING()).print()
    env.execute("Async enrichment")
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
