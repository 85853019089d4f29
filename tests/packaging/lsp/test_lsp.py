"""`ptxcheck lsp` with the client of pytest-lsp, which has what Neovim, VS Code and Emacs say that they are able to do."""

import asyncio
import os
import pathlib
import shutil

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

PROGRAM = os.environ["PTXCHECK_BIN"]
DEMO = pathlib.Path(os.environ["PTXCHECK_DEMO"])

pytestmark = pytest.mark.asyncio


async def opened(client: LanguageClient, path: pathlib.Path, language: str) -> str:
    uri = path.as_uri()
    item = types.TextDocumentItem(uri=uri, language_id=language, version=1, text=path.read_text())
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    return uri


async def diagnostics(client: LanguageClient, uri: str, wanted: int) -> list[types.Diagnostic]:
    """The diagnostics of a text, as soon as there are as many as wanted."""
    for _ in range(1200):
        found = client.diagnostics.get(uri)
        if found is not None and len(found) == wanted:
            return list(found)
        await asyncio.sleep(0.05)
    raise AssertionError(f"{uri} is not among {client.diagnostics}")


@pytest.mark.parametrize("editor", ["neovim", "visual-studio-code", "emacs"])
async def test_an_editor(editor: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "build").mkdir()
    source = tmp_path / "partial_warp.cu"
    compiled = tmp_path / "build" / "partial_warp.ptx"
    shutil.copy(DEMO / source.name, source)
    shutil.copy(DEMO / compiled.name, compiled)
    config = ClientServerConfig(server_command=[PROGRAM, "lsp"])
    client = await config.start()
    try:
        folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name="project")
        result = await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(editor),
                workspace_folders=[folder],
                initialization_options={"build": "build"},
            )
        )
        assert result.capabilities.hover_provider

        # The source has the finding of the last build, and leads to the compiled code.
        uri = await opened(client, source, "cuda-cpp")
        [found] = await diagnostics(client, uri, 1)
        assert (found.code, found.severity) == ("PTX401", types.DiagnosticSeverity.Error)
        assert "__shfl" in source.read_text().splitlines()[found.range.start.line]
        at = types.TextDocumentIdentifier(uri=uri)
        places = await client.text_document_definition_async(
            types.DefinitionParams(text_document=at, position=found.range.start)
        )
        assert compiled.as_uri() in [place.uri for place in places]
        page = await client.text_document_hover_async(
            types.HoverParams(text_document=at, position=found.range.start)
        )
        assert page.contents.kind == types.MarkupKind.Markdown
        assert page.contents.value.startswith("**PTX401 ")

        # The compiled code leads back, and is checked as it is edited.
        text = await opened(client, compiled, "ptx")
        [there] = await diagnostics(client, text, 1)
        places = await client.text_document_definition_async(
            types.DefinitionParams(
                text_document=types.TextDocumentIdentifier(uri=text), position=there.range.start
            )
        )
        assert (places[0].uri, places[0].range.start.line) == (uri, found.range.start.line)
        whole = types.TextDocumentContentChangeWholeDocument(text="")
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=text, version=2),
                content_changes=[whole],
            )
        )
        await diagnostics(client, text, 0)

        # The next build is without the finding.
        compiled.write_text("")
        await diagnostics(client, uri, 0)
    finally:
        # Without it, `stop` waits for a server that has no reason to end.
        await client.shutdown_session()
        await client.stop()
