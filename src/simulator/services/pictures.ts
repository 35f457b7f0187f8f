import { gemini } from '../gemini.ts'
import { isRecord, type JsonObject } from '../json.ts'
import { openaiChat } from '../openai-chat.ts'
import { BadRequest } from '../prompt.ts'
import { lean, oneOf, only } from './service.ts'
import type { ForeignService } from './service.ts'

interface Shown {
  readonly url?: string
  readonly b64_json?: string
}

const picturesOf = (answer: JsonObject): readonly Shown[] => answer['data'] as Shown[]

const WITHHELD = /keep this back/

/** Whether the content filters withhold the picture of this prompt. */
const isWithheld = (prompt: unknown): boolean => typeof prompt === 'string' && WITHHELD.test(prompt)

export const IMAGES: readonly ForeignService[] = [
  {
    kind: 'images',
    method: 'POST',
    path: /\/models\/(imagen[^/:]*):predict$/,
    wire: gemini,
    read(body, { model }) {
      only(body, ['instances', 'parameters'])
      const [instance] = Array.isArray(body['instances']) ? (body['instances'] as unknown[]) : []
      const parameters = isRecord(body['parameters']) ? body['parameters'] : {}
      oneOf(parameters['aspectRatio'], 'aspectRatio', ['1:1', '3:4', '4:3', '9:16', '16:9'])
      oneOf(parameters['sampleCount'], 'sampleCount', [1, 2, 3, 4])
      return lean({ model, prompt: isRecord(instance) ? instance['prompt'] : undefined, n: parameters['sampleCount'] })
    },
    write: (answer, { body }) => {
      const [instance] = body['instances'] as readonly JsonObject[]
      if (isWithheld(instance?.['prompt'])) return { predictions: [{ raiFilteredReason: 'Unable to show this.' }] }
      return {
        predictions: picturesOf(answer).map(({ b64_json: bytes }) => ({
          mimeType: 'image/png',
          bytesBase64Encoded: bytes,
        })),
      }
    },
  },
  {
    kind: 'images',
    method: 'POST',
    path: /\/xai\/.*\/images\/generations$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'prompt', 'n', 'response_format', 'aspect_ratio', 'resolution', 'user'])
      oneOf(body['response_format'], 'response_format', ['url', 'b64_json'])
      return lean({ ...body, response_format: body['response_format'] ?? 'url', aspect_ratio: undefined })
    },
    write: (answer) => ({ data: answer['data'] }),
  },
  {
    kind: 'images',
    method: 'POST',
    path: /\/together\/.*\/images\/generations$/,
    wire: openaiChat,
    read(body) {
      oneOf(body['response_format'], 'response_format', ['url', 'base64'])
      if (body['size'] !== undefined) throw new BadRequest('size is not known here: width and height are', 'size')
      return lean({ ...body, response_format: body['response_format'] === 'base64' ? undefined : 'url' })
    },
    write: (answer, { body }) => ({ id: 'x', object: 'list', model: body['model'], data: answer['data'] }),
  },
  {
    kind: 'images',
    method: 'POST',
    path: /\/siliconflow\/.*\/images\/generations$/,
    wire: openaiChat,
    read(body) {
      if (body['n'] !== undefined) throw new BadRequest('n is not known here: batch_size is', 'n')
      oneOf(body['batch_size'], 'batch_size', [1, 2, 3, 4])
      return lean({ ...body, n: body['batch_size'], response_format: 'url' })
    },
    write: (answer) => ({ images: answer['data'], timings: { inference: 1 }, seed: 1 }),
  },
  {
    kind: 'images',
    method: 'POST',
    path: /\/openrouter\/.*\/chat\/completions$/,
    wire: openaiChat,
    read(body) {
      oneOf(JSON.stringify(body['modalities']), 'modalities', ['["image","text"]'])
      if (body['n'] !== undefined) throw new BadRequest('one image at a time', 'n')
      const [message] = Array.isArray(body['messages']) ? (body['messages'] as unknown[]) : []
      return { model: body['model'], prompt: isRecord(message) ? message['content'] : undefined }
    },
    write: (answer) => ({
      id: 'gen-1',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            content: '',
            images: picturesOf(answer).map(({ b64_json: bytes }) => ({
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${bytes ?? ''}` },
            })),
          },
        },
      ],
      usage: inWordsOfChat(answer['usage']),
    }),
  },
]

/** Whether a request of generateContent is for pictures. */
export function wantsPictures(body: JsonObject): boolean {
  const config = body['generationConfig']
  const modalities = isRecord(config) ? config['responseModalities'] : null
  return Array.isArray(modalities) && modalities.includes('IMAGE')
}

export const GEMINI_IMAGES: ForeignService = {
  kind: 'images',
  method: 'POST',
  path: /\/models\/([^/:]+):generateContent$/,
  wire: gemini,
  read(body, { model }) {
    only(body, ['contents', 'generationConfig', 'safetySettings'])
    const [content] = Array.isArray(body['contents']) ? (body['contents'] as unknown[]) : []
    const parts = isRecord(content) ? content['parts'] : null
    const part: unknown = Array.isArray(parts) ? parts[0] : null
    return { model, prompt: isRecord(part) ? part['text'] : undefined }
  },
  write: (answer, { body }) => {
    const usage = isRecord(answer['usage']) ? answer['usage'] : {}
    const usageMetadata = {
      promptTokenCount: usage['input_tokens'],
      candidatesTokenCount: usage['output_tokens'],
      totalTokenCount: usage['total_tokens'],
    }
    if (isWithheld(JSON.stringify(body['contents']))) {
      return { candidates: [{ finishReason: 'IMAGE_SAFETY', index: 0 }], usageMetadata }
    }
    const parts = [
      { text: 'Here it is.' },
      ...picturesOf(answer).map(({ b64_json: data }) => ({ inlineData: { mimeType: 'image/png', data } })),
    ]
    return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }], usageMetadata }
  },
}

function inWordsOfChat(usage: unknown): JsonObject | undefined {
  if (!isRecord(usage)) return undefined
  const { input_tokens: prompt, output_tokens: completion, total_tokens: total } = usage
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
}
