import { ServiceTranslator } from '../../src/front/gateway/service-translator.ts'

const refuse = (): never => {
  throw new Error('no service is to be asked here')
}

/** For tests in which upstreams are asked as they are by clients. */
export const noServices = new ServiceTranslator({ buildCalls: refuse, readCalls: refuse }, 0)
