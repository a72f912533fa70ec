#!/usr/bin/env python3
"""llmprof mcp with the official client of the protocol, in both of its beginnings.

client.py LLMPROF: run in the source tree; exit status 77 where the client (mcp) is missing.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List, Tuple

try:
    import mcp_types as types
    from mcp.client._probe import negotiate_auto
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.shared.exceptions import MCPError
except ImportError:
    print("client.py: no client of the protocol (the package mcp)", file=sys.stderr)
    sys.exit(77)

LLMPROF = sys.argv.pop(1) if len(sys.argv) > 1 else "llmprof"

Talk = Callable[[ClientSession], Awaitable[None]]


def text_of(result: types.CallToolResult) -> str:
    """The text that a tool gave."""
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    return content.text


class Client(unittest.TestCase):
    """Whole sessions; the runs are made once."""

    root: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = Path(tempfile.mkdtemp(prefix="llmprof-agents."))
        for name in ("one", "two"):
            subprocess.run([LLMPROF, "recipes/alt_llm.lua", "capture=recorded", "-q",
                            "recorded=tests/fixtures/recorded/alt_llm",
                            f"run.root={cls.root}", f"run.id={name}"], check=True)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.root, ignore_errors=True)

    def talk(self, talk: Talk, *options: str) -> None:
        """The same talk in both beginnings."""
        server = StdioServerParameters(
            command=LLMPROF, args=["mcp", "--root", str(self.root), *options])

        async def one(modern: bool) -> None:
            async with stdio_client(server) as (read, write):
                async with ClientSession(read, write) as session:
                    if modern:
                        await negotiate_auto(session)
                    else:
                        await session.initialize()
                    await talk(session)

        for modern in (False, True):
            with self.subTest(modern=modern):
                asyncio.run(one(modern))

    def test_beginnings(self) -> None:
        async def talk(session: ClientSession) -> None:
            names = [tool.name for tool in (await session.list_tools()).tools]
            self.assertEqual(names, ["runs", "digest", "table", "query", "compare"])

        self.talk(talk)

    def test_each_tool(self) -> None:
        calls: List[Tuple[str, Dict[str, Any], str]] = [
            ("runs", {}, '"id":"two"'),
            ("digest", {"run": "latest"}, '"schema_version":1'),
            ("table", {"run": "one"}, '"stages"'),
            ("table", {"run": "one", "section": "kernels", "top": 3}, '"left_out":'),
            ("query", {"run": "one", "code": "#kernels"}, "\n"),
            ("compare", {"before": "one", "after": "two"}, '"comparisons"'),
        ]

        async def talk(session: ClientSession) -> None:
            for name, arguments, part in calls:
                result = await session.call_tool(name, arguments)
                self.assertFalse(result.is_error, text_of(result))
                self.assertIn(part, text_of(result))

        self.talk(talk)

    def test_resources(self) -> None:
        async def talk(session: ClientSession) -> None:
            listed = (await session.list_resources()).resources
            for start in ("llmprof://runs/one/report.md", "llmprof://docs/metrics.md"):
                found = [entry for entry in listed if str(entry.uri) == start]
                self.assertEqual(len(found), 1, start)
                contents = (await session.read_resource(found[0].uri)).contents[0]
                assert isinstance(contents, types.TextResourceContents)
                self.assertTrue(contents.text.startswith("# "))
            with self.assertRaises(MCPError):
                await session.read_resource("llmprof://runs/one/../../x")

        self.talk(talk)

    def test_errors(self) -> None:
        async def talk(session: ClientSession) -> None:
            for name, arguments in (("digest", {"run": "nobody"}), ("digest", {"run": "--help"}),
                                    ("query", {"run": "one", "code": "error('x')"}),
                                    ("query", {"run": "one", "code": "\x00"}),
                                    ("table", {"run": "one", "section": "../x"}),
                                    ("compare", {"before": "one", "after": "/etc/passwd"})):
                result = await session.call_tool(name, arguments)
                self.assertTrue(result.is_error, f"{name} {arguments}")
                self.assertNotIn("traceback", text_of(result))
            with self.assertRaises(MCPError):
                await session.call_tool("capture", {"recipe": "toy_llm"})

        self.talk(talk)

    def test_cancellation(self) -> None:
        async def talk(session: ClientSession) -> None:
            endless = asyncio.ensure_future(
                session.call_tool("query", {"run": "one", "code": "while true do end"}))
            await asyncio.sleep(0.5)
            endless.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await endless
            result = await session.call_tool("query", {"run": "one", "code": "1 + 1"})
            self.assertEqual(text_of(result), "2\n")

        self.talk(talk)

    def test_a_hundred_calls(self) -> None:
        async def talk(session: ClientSession) -> None:
            results = await asyncio.gather(*(
                session.call_tool("query", {"run": "one", "code": f"{i} * 2"})
                for i in range(100)))
            self.assertEqual([text_of(result) for result in results],
                             [f"{i * 2}\n" for i in range(100)])

        self.talk(talk)


if __name__ == "__main__":
    unittest.main()
