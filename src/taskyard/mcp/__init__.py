"""The MCP server: tools, resources and prompts over the same yard as every other way in.

It needs the extra `taskyard[mcp]`. Nothing outside this package imports it except `app`, when it is asked for.
"""
