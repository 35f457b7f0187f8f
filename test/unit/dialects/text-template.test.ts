import { describe, expect, it } from 'vitest'
import { TextTemplate } from '../../../src/dialects/common/text-template.ts'
import fc from '../../support/fast-check.ts'
import { chatStream, collect, answerOf, decodeStream, finishChunk } from '../../support/translation.ts'

const MARKER = Buffer.from('"content":"')

function chunk(text: string, rest = '"obfuscation":"ab"'): Buffer {
  return Buffer.from(`data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}],${rest}}\n\n`)
}

function learned(): TextTemplate {
  const template = new TextTemplate()
  const first = chunk('one')
  template.learn(first, 0, first.length, MARKER, 'one')
  return template
}

describe('the template of ordinary events', () => {
  it('reads the text of events that differ in nothing else', () => {
    const template = learned()
    for (const text of ['two', '', 'né 😀', '"quoted"', '\\', 'a\nb', '}}]}']) {
      const event = chunk(text, '"obfuscation":"xyz"')
      expect(template.match(event, 0, event.length)).toBe(text)
    }
  })

  it('does not know events that differ elsewhere, or are not JSON', () => {
    const template = learned()
    const plain = 'data: {"choices":[{"delta":{"content":"x"}}],"obfuscation":"ab"}\n\n'
    const others = [
      plain.replace('"x"', '"x","refusal":null'),
      plain.replace('"x"', '"\\q"'),
      plain.replace('"x"', '"a\nb"'),
      plain.replace('"ab"', '"ab\\"'),
      plain.replace('"ab"', '"a\nb"'),
      plain.slice(0, -1),
      `${plain}\n`,
      plain.replace('"ab"', '"ab","usage":{}'),
      plain.replace('"x"}', '"x'),
    ]
    for (const other of others) expect(template.match(Buffer.from(other), 0, other.length), other).toBeNull()
  })

  it('changes nothing in what a stream means', () => {
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.record({ content: fc.string({ minLength: 1, unit: 'grapheme' }) }) },
      fc.record({ content: fc.constantFrom('"content":"', '","content":"x'), refusal: fc.constant(null) }),
      fc.record({ reasoning: fc.string({ minLength: 1 }), content: fc.constant('') }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (deltas) => {
        const stream = chatStream([{ role: 'assistant' }, ...deltas], finishChunk('stop'))
        const { content } = answerOf(collect(decodeStream('openai-chat', [stream])))
        const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
        expect(text).toBe(deltas.map((delta) => delta.content).join(''))
      }),
    )
  })
})
