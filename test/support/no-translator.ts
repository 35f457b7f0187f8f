import { Translator } from '../../src/front/gateway/translator.ts'

const refuse = (): never => {
  throw new Error('nothing is to be translated here')
}

/** For tests in which client and upstream speak the same dialect. */
export const noTranslator = new Translator({ translateRequest: refuse, translateAnswer: refuse }, 0)
