import { describe, expect, it } from 'vitest'
import { azureAuth, azurePath } from '../../../src/dialects/azure-openai/address.ts'
import {
  BEDROCK_SERVICE,
  bedrockAuth,
  bedrockHost,
  bedrockPath,
} from '../../../src/dialects/bedrock-converse/address.ts'
import { EXCEPTION_STATUS, readFailure } from '../../../src/dialects/bedrock-converse/errors.ts'
import { COHERE_CHAT_PATH, cohereAuth } from '../../../src/dialects/cohere-chat/address.ts'
import { loadCloudFixtures } from '../../support/recorded-fixtures.ts'

describe('where and how a cloud is called', () => {
  it('has the model of Bedrock in the path, encoded, be it an ARN', () => {
    expect(bedrockHost('eu-central-1')).toBe('bedrock-runtime.eu-central-1.amazonaws.com')
    expect(bedrockPath('anthropic.claude-3-haiku-20240307-v1:0', 'converse-stream')).toBe(
      '/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream',
    )
    expect(bedrockPath('arn:aws:bedrock:us-east-1:1:inference-profile/us.x', 'invoke')).toBe(
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/invoke',
    )
    expect(BEDROCK_SERVICE).toBe('bedrock')
    expect(bedrockAuth('key')).toEqual(['authorization', 'Bearer key'])
  })

  it('has the deployment of Azure in the path or in the body, and a key in a header of its own', () => {
    const dated = { kind: 'deployments', apiVersion: '2024-10-21' } as const
    expect(azurePath(dated, 'a b', 'chat/completions')).toBe(
      '/openai/deployments/a%20b/chat/completions?api-version=2024-10-21',
    )
    expect(azurePath({ kind: 'v1' }, 'x', 'embeddings')).toBe('/openai/v1/embeddings')
    expect(azurePath({ kind: 'models', apiVersion: '2024-05-01-preview' }, 'x', 'chat/completions')).toBe(
      '/models/chat/completions?api-version=2024-05-01-preview',
    )
    expect(azureAuth('key', 'k')).toEqual(['api-key', 'k'])
    expect(azureAuth('token', 't')).toEqual(['authorization', 'Bearer t'])
  })

  it('has one path at Cohere', () => {
    expect([COHERE_CHAT_PATH, ...cohereAuth('k')]).toEqual(['/v2/chat', 'authorization', 'Bearer k'])
  })
})

describe('an error of Bedrock', () => {
  it.each(loadCloudFixtures('bedrock-converse').filter(({ kind }) => kind === 'error'))(
    'has its type in a header: $id',
    ({ response, responseHeaders }) => {
      const failure = readFailure(response, responseHeaders)
      expect(failure.message).toBe((JSON.parse(response.toString()) as { message: string }).message)
      expect(failure.type).toMatch(responseHeaders['x-amzn-errortype'] === undefined ? /^$/ : /^[A-Za-z]+Exception$/)
    },
  )

  it('within a stream stands for a status', () => {
    expect(EXCEPTION_STATUS).toMatchObject({ throttlingException: 429, modelStreamErrorException: 424 })
  })
})
