import { describe, expect, it } from 'vitest'
import { azureApi, azurePath } from '../../../src/dialects/azure-openai/address.ts'
import { bedrockPath } from '../../../src/dialects/bedrock-converse/address.ts'
import { EXCEPTION_STATUS, readFailure } from '../../../src/dialects/bedrock-converse/errors.ts'
import { loadCloudFixtures } from '../../support/recorded-fixtures.ts'

describe('where and how a cloud is called', () => {
  it('has the model of Bedrock in the path, encoded, be it an ARN', () => {
    expect(bedrockPath('anthropic.claude-3-haiku-20240307-v1:0', 'converse-stream')).toBe(
      '/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream',
    )
    expect(bedrockPath('arn:aws:bedrock:us-east-1:1:inference-profile/us.x', 'invoke')).toBe(
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/invoke',
    )
  })

  it.each([
    ['', '/chat/completions', '/openai/deployments/a%20b/chat/completions?api-version=2024-10-21'],
    ['/openai', '/embeddings', '/openai/deployments/a%20b/embeddings?api-version=2024-10-21'],
    ['/gate', '/chat/completions', '/gate/openai/deployments/a%20b/chat/completions?api-version=2024-10-21'],
    ['/openai/v1', '/embeddings', '/openai/v1/embeddings?api-version=2024-10-21'],
    ['/models', '/chat/completions', '/models/chat/completions?api-version=2024-10-21'],
  ])('has the deployment of Azure at %j in the path or in the body', (base, operation, path) => {
    const { prefix, api } = azureApi(base, '2024-10-21')
    expect(prefix + azurePath(api, 'a b', operation)).toBe(path)
  })
})

describe('an error of Bedrock', () => {
  it.each(loadCloudFixtures('bedrock-converse').filter(({ kind }) => kind === 'error'))(
    'has its type in a header: $id',
    ({ response, responseHeaders }) => {
      const failure = readFailure(response, responseHeaders['x-amzn-errortype'])
      expect(failure.message).toBe((JSON.parse(response.toString()) as { message: string }).message)
      expect(failure.type).toMatch(responseHeaders['x-amzn-errortype'] === undefined ? /^$/ : /^[A-Za-z]+Exception$/)
    },
  )

  it('within a stream stands for a status', () => {
    expect(EXCEPTION_STATUS).toMatchObject({ throttlingException: 429, modelStreamErrorException: 424 })
  })
})
