import { ServiceTranslator } from '../../src/front/gateway/service-translator.ts'

const refuse = (): never => {
  throw new Error('no service is to be asked here')
}

/** For tests in which requests of services need no translation. */
export const noServices = new ServiceTranslator({ buildCalls: refuse, readCalls: refuse }, 0)
