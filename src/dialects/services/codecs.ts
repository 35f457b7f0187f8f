import type { Dialect } from '../../shared/core/dialect.ts'
import type {
  ProtocolOf,
  ServiceBodiesName,
  ServiceName,
  ServiceProtocol,
  SERVICES,
} from '../../shared/core/service.ts'
import { cohereEmbeddings } from '../embeddings/cohere.ts'
import { geminiEmbeddings, vertexEmbeddings } from '../embeddings/gemini.ts'
import { likeOpenai } from '../embeddings/like-openai.ts'
import { embeddingsService } from '../embeddings/service.ts'
import { geminiImages, imagen } from '../images/gemini.ts'
import { openaiImageCalls, siliconflowImages, togetherImages, xaiImages } from '../images/like-openai.ts'
import { openrouterImages } from '../images/openrouter.ts'
import { imagesService } from '../images/service.ts'
import { openaiEmbeddings } from '../openai-embeddings/index.ts'
import { openaiImages } from '../openai-images/index.ts'
import { openaiVideos } from '../openai-videos/index.ts'
import { cohereRerank, commonRerank, teiRerank, voyageRerank } from '../rerank/codecs.ts'
import { rerank } from '../rerank/index.ts'
import { rerankService } from '../rerank/service.ts'
import { videoCodec } from '../videos/codecs.ts'
import { videoService } from '../videos/service.ts'
import type { ServiceCodec } from './codec.ts'

/** The dialect and the codecs of one service. */
interface ServiceLanguage<Name extends ServiceName> {
  /** For upstreams that take requests as clients write them. */
  readonly bodies: Dialect & { readonly name: (typeof SERVICES)[Name]['protocols'][0] }
  readonly codecs: Readonly<Record<ProtocolOf<Name>, ServiceCodec>>
}

const LANGUAGES: { readonly [Name in ServiceName]: ServiceLanguage<Name> } = {
  embeddings: {
    bodies: openaiEmbeddings,
    codecs: {
      'openai-embeddings': embeddingsService(likeOpenai({ maxInputs: 2048, takesTokens: true, takesObjects: true })),
      'voyage-embeddings': embeddingsService(
        likeOpenai({
          maxInputs: 1000,
          dimensions: 'output_dimension',
          encoding: { name: 'encoding_format', takesFloat: false },
          refuses: ['user'],
        }),
      ),
      'jina-embeddings': embeddingsService(
        likeOpenai({
          maxInputs: 512,
          takesObjects: true,
          encoding: { name: 'embedding_type', takesFloat: true },
          refuses: ['user'],
        }),
      ),
      'cohere-embeddings': embeddingsService(cohereEmbeddings),
      'gemini-embeddings': embeddingsService(geminiEmbeddings),
      'vertex-embeddings': embeddingsService(vertexEmbeddings),
    },
  },
  rerank: {
    bodies: rerank,
    codecs: {
      rerank: rerankService(commonRerank),
      'cohere-rerank': rerankService(cohereRerank),
      'voyage-rerank': rerankService(voyageRerank),
      'tei-rerank': rerankService(teiRerank),
    },
  },
  images: {
    bodies: openaiImages,
    codecs: {
      'openai-images': imagesService(openaiImageCalls),
      'xai-images': imagesService(xaiImages),
      'gemini-images': imagesService(geminiImages),
      imagen: imagesService(imagen),
      'together-images': imagesService(togetherImages),
      'siliconflow-images': imagesService(siliconflowImages),
      'openrouter-images': imagesService(openrouterImages),
    },
  },
  videos: {
    bodies: openaiVideos,
    codecs: {
      'openai-videos': videoService(videoCodec('openai-videos')),
      veo: videoService(videoCodec('veo')),
      'xai-videos': videoService(videoCodec('xai-videos')),
      'dashscope-videos': videoService(videoCodec('dashscope-videos')),
      'ark-videos': videoService(videoCodec('ark-videos')),
    },
  },
}

const CODECS = Object.assign({}, ...Object.values(LANGUAGES).map(({ codecs }) => codecs)) as Readonly<
  Record<ServiceProtocol, ServiceCodec>
>

/** The dialects of all services, by name. */
export const SERVICE_BODIES = Object.fromEntries(
  Object.values(LANGUAGES).map(({ bodies }) => [bodies.name, bodies]),
) as Readonly<Record<ServiceBodiesName, Dialect>>

export function serviceCodec(protocol: ServiceProtocol): ServiceCodec {
  return CODECS[protocol]
}
