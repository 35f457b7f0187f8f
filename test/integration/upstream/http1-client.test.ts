import { describe } from 'vitest'
import { Http1Client } from '../../../src/front/upstream/http1/http1-client.ts'
import { upstreamClientContract } from '../../contract/upstream-client.ts'

describe('Http1Client', () => {
  upstreamClientContract((options) => new Http1Client(options))
})
