import { Seal } from '../../src/shared/runtime/seal.ts'
import type { McpCaller, McpCallers } from '../../src/control/mcp/callers.ts'
import { McpService } from '../../src/control/mcp/mcp-service.ts'
import { ModelList } from '../../src/control/mcp/model-list.ts'
import { Origins } from '../../src/control/mcp/origins.ts'
import { Resources } from '../../src/control/mcp/resources.ts'
import { SessionIds } from '../../src/control/mcp/session-ids.ts'
import { McpSessions } from '../../src/control/mcp/sessions.ts'
import { failedOutcome } from '../../src/control/mcp/tool-source.ts'
import type { Content, Tool, ToolCall, ToolOutcome, ToolSource } from '../../src/control/mcp/tool-source.ts'
import { Tools } from '../../src/control/mcp/tools.ts'

/** A picture of one pixel (PNG), and a sound without a sample (WAV). */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SILENCE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const TEXT: Content = { type: 'text', text: 'This is a simple text response for testing.' }
const IMAGE: Content = { type: 'image', data: PIXEL, mimeType: 'image/png' }
const EMBEDDED: Content = {
  type: 'resource',
  resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
}

/** The results of the tools of the conformance suite. */
const CONTENTS: Readonly<Record<string, readonly Content[]>> = {
  test_simple_text: [TEXT],
  test_image_content: [IMAGE],
  test_audio_content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }],
  test_embedded_resource: [EMBEDDED],
  test_multiple_content_types: [TEXT, IMAGE, EMBEDDED],
  test_tool_with_progress: [TEXT],
  test_error_handling: [],
}

/** The tools that the conformance suite of the protocol calls. */
export class ConformanceTools implements ToolSource {
  list(): Promise<readonly Tool[]> {
    return Promise.resolve(Object.keys(CONTENTS).map(toolOf))
  }

  call({ name, progress }: ToolCall): Promise<ToolOutcome> {
    if (name === 'test_error_handling') {
      const message = 'This tool intentionally returns an error for testing'
      return Promise.resolve(
        failedOutcome(400, { type: 'invalid_request', code: 'INVALID_FIELD', message, param: null, request_id: '' }),
      )
    }
    if (name === 'test_tool_with_progress') for (const done of [0, 50, 100]) progress?.(done, `${done} of 100`)
    return Promise.resolve({ isError: false, content: CONTENTS[name] ?? [], structured: null })
  }
}

function toolOf(name: string): Tool {
  const annotations = {
    title: name,
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  }
  return {
    name,
    title: name,
    description: `The fixture ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    annotations,
  }
}

const ANYBODY: McpCaller = {
  kind: 'user',
  subject: 'user:anybody',
  user: {
    userId: 'anybody',
    role: 'user',
    enterpriseRole: null,
    tokenId: 'token',
    tokenExpiresAt: new Date(8.64e15),
    generation: 0,
  },
  authorization: '',
  origin: { address: '127.0.0.1', userAgent: '' },
}

/** The tool server with tools of a test, for anybody. */
export function serviceWith(source: ToolSource, onFault: (cause: unknown) => void): McpService {
  const callers = {
    identify: () => Promise.resolve(ANYBODY),
    ended: () => Promise.resolve(new Set()),
    memberships: () => Promise.resolve([]),
  } as unknown as McpCallers
  return new McpService({
    parts: {
      tools: new Tools([source], onFault),
      resources: new Resources(new ModelList(() => null, 'USD')),
      version: '0.0.0',
      onListed: () => undefined,
      onFault,
    },
    callers,
    ids: new SessionIds(new Seal(Buffer.alloc(32), 'a test')),
    sessions: new McpSessions({ callers, max: 1_000, onFault }),
    origins: new Origins({ baseUrl: null, allowed: [] }),
    baseUrl: null,
    isTls: false,
    authorization: null,
    notices: null,
    watch: { close: () => undefined },
  })
}
