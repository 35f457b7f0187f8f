import type { ServiceProtocol } from '../../shared/core/service.ts'
import { cohereEmbeddings } from '../embeddings/cohere.ts'
import { geminiEmbeddings, vertexEmbeddings } from '../embeddings/gemini.ts'
import { likeOpenai } from '../embeddings/like-openai.ts'
import { embeddingsService } from '../embeddings/service.ts'
import { geminiImages, imagen } from '../images/gemini.ts'
import { openaiImageCalls, siliconflowImages, togetherImages, xaiImages } from '../images/like-openai.ts'
import { openrouterImages } from '../images/openrouter.ts'
import { imagesService } from '../images/service.ts'
import { cohereRerank, commonRerank, teiRerank, voyageRerank } from '../rerank/codecs.ts'
import { rerankService } from '../rerank/service.ts'
import { videoCodec } from '../videos/codecs.ts'
import { videoService } from '../videos/service.ts'
import type { ServiceCodec } from './codec.ts'

const CODECS: Readonly<Record<ServiceProtocol, ServiceCodec>> = {
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
  rerank: rerankService(commonRerank),
  'cohere-rerank': rerankService(cohereRerank),
  'voyage-rerank': rerankService(voyageRerank),
  'tei-rerank': rerankService(teiRerank),
  'openai-images': imagesService(openaiImageCalls),
  'xai-images': imagesService(xaiImages),
  'gemini-images': imagesService(geminiImages),
  imagen: imagesService(imagen),
  'together-images': imagesService(togetherImages),
  'siliconflow-images': imagesService(siliconflowImages),
  'openrouter-images': imagesService(openrouterImages),
  'openai-videos': videoService(videoCodec('openai-videos')),
  veo: videoService(videoCodec('veo')),
  'xai-videos': videoService(videoCodec('xai-videos')),
  'dashscope-videos': videoService(videoCodec('dashscope-videos')),
  'ark-videos': videoService(videoCodec('ark-videos')),
}

export function serviceCodec(protocol: ServiceProtocol): ServiceCodec {
  return CODECS[protocol]
}
