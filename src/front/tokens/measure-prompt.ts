import type { Block, ImageBlock } from '../../shared/core/content.ts'
import type { Conversation, Tool, ToolChoice } from '../../shared/core/conversation.ts'
import { TextCounter } from './text-counter.ts'

/** A longer text without a space is taken for base64. */
const MAX_WORD = 512

/** The parts of a prompt, in tokens of one tokenizer, without the overhead of a model family. */
export interface PromptMeasure {
  messages: number
  /** Content of all roles, including tool results. */
  textTokens: number
  /** Reasoning of earlier turns. */
  thinkingTokens: number
  calls: number
  callTokens: number
  tools: number
  /** Names, descriptions and schemas. */
  toolTokens: number
  toolChoice: 'auto' | 'forced' | 'none'
  /** Whether the answer must cite its sources. */
  citations: boolean
  /** The schema of the answer. */
  formatTokens: number
  readonly images: ImageBlock[]
  /** Documents and audio, whose size in tokens only the provider knows. */
  attachments: number
}

/** Measures a prompt. Long prompts are sampled. @param countTokens counts the tokens of one text */
export function measurePrompt(conversation: Conversation, countTokens: (text: string) => number): PromptMeasure {
  // The first pass only sums the lengths, which is cheap. The second one counts tokens.
  let totalUnits = 0
  measure(conversation, (text) => {
    totalUnits += text.length
    return 0
  })
  const counter = new TextCounter(countTokens, totalUnits)
  return measure(conversation, (text) => counter.count(text))
}

type Count = (text: string) => number

function measure({ system, messages, tools, toolChoice, format }: Conversation, count: Count): PromptMeasure {
  const measured: PromptMeasure = {
    messages: system.length + messages.length,
    textTokens: 0,
    thinkingTokens: 0,
    calls: 0,
    callTokens: 0,
    tools: 0,
    toolTokens: 0,
    toolChoice: choiceOf(toolChoice),
    citations: false,
    formatTokens: format?.type === 'schema' ? count(JSON.stringify(format.schema)) : 0,
    images: [],
    attachments: 0,
  }
  for (const { content } of system) measureBlocks(content, measured, count)
  for (const { content } of messages) measureBlocks(content, measured, count)
  for (const tool of tools) {
    measured.tools++
    measured.toolTokens += count(toolText(tool))
  }
  return measured
}

function measureBlocks(blocks: readonly Block[], measured: PromptMeasure, count: Count): void {
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
      case 'refusal':
        measured.textTokens += count(block.text)
        break
      case 'thinking':
        measured.thinkingTokens += count(block.text)
        break
      case 'tool-call':
        measured.calls++
        measured.callTokens += count(block.name) + count(jsonText(block.input))
        break
      case 'tool-result':
        measureBlocks(block.content, measured, count)
        break
      case 'search-result':
        measured.textTokens += count(block.title) + count(block.source)
        measureBlocks(block.content, measured, count)
        measured.citations ||= block.citations === true
        break
      case 'image':
        measured.images.push(block)
        break
      case 'document':
        if (block.source.kind === 'text') measured.textTokens += count(block.source.text)
        else if (block.source.kind === 'blocks') measureBlocks(block.source.blocks, measured, count)
        else measured.attachments++
        measured.citations ||= block.citations === true
        break
      case 'audio':
        measured.attachments++
        break
      case 'native':
        measured.textTokens += count(JSON.stringify(block.value, withoutBlobs))
        break
      case 'redacted-thinking':
      case 'tool-reference':
        break
    }
  }
}

/** A JSON replacer that empties files and signatures, which are not text. */
function withoutBlobs(_name: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > MAX_WORD && !value.slice(0, MAX_WORD).includes(' ') ? '' : value
}

function choiceOf(choice: ToolChoice | null): PromptMeasure['toolChoice'] {
  switch (choice?.type) {
    case 'required':
    case 'tool':
      return 'forced'
    case 'allowed':
      return choice.required ? 'forced' : 'auto'
    case 'none':
      return 'none'
    default:
      return 'auto'
  }
}

function toolText(tool: Tool): string {
  switch (tool.type) {
    case 'function':
      return `${tool.name} ${tool.description ?? ''} ${jsonText(tool.parameters)}`
    case 'custom':
      return `${tool.name} ${tool.description ?? ''} ${jsonText(tool.format)}`
    case 'native':
      return jsonText(tool.value)
  }
}

function jsonText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '' : JSON.stringify(value)
}
