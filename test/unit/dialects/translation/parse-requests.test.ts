import { describe, expect, it } from 'vitest'
import { parseRequest as parseMessages } from '../../../../src/dialects/anthropic-messages/parse-request.ts'
import { parseRequest as parseChat } from '../../../../src/dialects/openai-chat/parse-request.ts'

describe('a request in the form between the dialects', () => {
  it('has the instructions ahead of the conversation apart from those within it', () => {
    const { system, messages } = parseChat({
      model: 'm',
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: 'b' },
        { role: 'user', content: 'c' },
        { role: 'system', content: 'd' },
      ],
    })
    expect(system.map((message) => message.role)).toEqual(['system', 'developer'])
    expect(messages.map((message) => message.role)).toEqual(['user', 'system'])
  })

  it('has results of tools as blocks, whichever dialect they came in', () => {
    const fromChat = parseChat({ messages: [{ role: 'tool', tool_call_id: 'x', content: '7' }] })
    const fromMessages = parseMessages({
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: '7' }] }],
    })
    expect(fromChat.messages[0]?.content).toEqual(fromMessages.messages[0]?.content)
  })
})
