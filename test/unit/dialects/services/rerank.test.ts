import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../../../src/shared/core/service.ts'
import type { ProtocolOf } from '../../../../src/shared/core/service.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadEndpointFixtures } from '../../../support/recorded-fixtures.ts'
import { ask as askService, refusalOf, shown } from './ask.ts'
import type { Asked } from './ask.ts'

type Protocol = ProtocolOf<'rerank'>

const ask = (protocol: Protocol, request: object): Asked => askService('rerank', protocol, { query: 'q', ...request })

describe('what each service is asked', () => {
  it.each<[Protocol, Json, string[]]>([
    [
      'rerank',
      { model: 'u', query: 'q', documents: ['a', 'b'], top_n: 1, return_documents: true, user: 'w', truncation: false },
      [],
    ],
    ['cohere-rerank', { model: 'u', query: 'q', documents: ['a', 'b'], top_n: 1 }, ['user', 'truncation']],
    [
      'voyage-rerank',
      { model: 'u', query: 'q', documents: ['a', 'b'], top_k: 1, return_documents: true, truncation: false },
      ['user'],
    ],
    ['tei-rerank', { query: 'q', texts: ['a', 'b'], return_text: true }, ['user', 'truncation']],
  ])('%s', (protocol, body, dropped) => {
    const request = { documents: ['a', { text: 'b' }], top_n: 1, return_documents: true, user: 'w', truncation: false }
    const asked = ask(protocol, request)
    expect(asked.bodies).toEqual([body])
    expect(asked.dropped).toEqual(dropped)
  })

  it('as Voyage was asked in the recordings', () => {
    const recorded = loadEndpointFixtures('rerank').find(({ id }) => id.includes('voyage-test-voyageai-rerank-legacy'))
    const { model, query, documents, top_k: topN } = JSON.parse(String(recorded?.request))
    const asked = ask('voyage-rerank', { query, documents, ...(topN === undefined ? {} : { top_n: topN }) })
    expect(asked.bodies[0]).toEqual({ model: 'u', query, documents, ...(topN === undefined ? {} : { top_k: topN }) })
    expect(typeof model).toBe('string')
  })

  it('pictures and fields pass where they can be ranked by', () => {
    const documents = [{ image: 'x' }, { text: 'a', title: 'b' }]
    expect(ask('rerank', { documents }).bodies[0]?.documents).toEqual(documents)
    for (const document of documents) {
      for (const protocol of ['cohere-rerank', 'voyage-rerank', 'tei-rerank'] as const) {
        expect(refusalOf(() => ask(protocol, { documents: [document] }))).toEqual({
          code: 'UNSUPPORTED_FIELD',
          param: '/documents',
        })
      }
    }
  })
})

describe('what comes back', () => {
  it('shows texts where the service shows none, by the index that was ranked', () => {
    const { answered } = ask('cohere-rerank', { documents: ['a', { text: 'b' }], return_documents: true, top_n: 1 })
    const results = [
      { index: 0, relevance_score: 0.1 },
      { index: 1, relevance_score: 0.9 },
    ]
    expect(shown(answered({ id: 'x', results })).results).toEqual([
      { index: 1, relevance_score: 0.9, document: { text: 'b' } },
    ])
  })

  it('shows none where none are wanted', () => {
    const { answered } = ask('rerank', { documents: ['a'], return_documents: false })
    const results = [{ index: 0, relevance_score: 1, document: { text: 'a' } }]
    expect(shown(answered({ results })).results).toEqual([{ index: 0, relevance_score: 1 }])
  })

  it.each([
    [{ results: [{ index: 2, relevance_score: 1 }] }],
    [{ results: [{ index: 0 }] }],
    [{ error: { message: 'boom' } }],
    [null],
  ])('is no answer: %j', (answer) => {
    for (const protocol of SERVICES.rerank.protocols) {
      expect(ask(protocol, { documents: ['a', 'b'] }).answered(answer).failure).not.toBeNull()
    }
  })
})
