// What ONNX Runtime's documentation (docs/ContribOperators.md) says of the inputs and attributes of
// com.microsoft's operators, those that are not read too: a message tells them from names that
// nobody has.
#include "exporter/onnx/signature.h"

namespace wick::onnx {
namespace {

// By name, ascending.
constexpr Signature kSignatures[] = {
    {"Attention", 1, "rrooooo",
     "do_rotary:i mask_filter_value:f num_heads:i! past_present_share_buffer:i "
     "qkv_hidden_sizes:I rotary_embedding_dim:i scale:f unidirectional:i"},
    {"AttnLSTM", 1, "rrrooooooooooo",
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i "
     "input_forget:i"},
    {"BeamSearch", 1, "rrorrooooooo",
     "decoder:g! decoder_start_token_id:i early_stopping:i encoder:g eos_token_id:i! "
     "init_decoder:g model_type:i no_repeat_ngram_size:i pad_token_id:i! vocab_size:i"},
    {"BiasAdd", 1, "rrr"},
    {"BiasDropout", 1, "rrooo", "seed:i"},
    {"BiasGelu", 1, "rr"},
    {"BiasSoftmax", 1, "rr", "axis:i is_inner_broadcast:i!"},
    {"BiasSplitGelu", 1, "rr"},
    {"BifurcationDetector", 1, "rrro", "max_ngram_size:i min_ngram_size:i"},
    {"BitmaskBiasDropout", 1, "rrooo", "seed:i"},
    {"BitmaskDropout", 1, "roo", "seed:i"},
    {"CDist", 1, "rr", "metric:s"},
    {"CausalConvWithState", 1, "rroo",
     "activation:s channels_last:i dilation:i ndim:i state_window:i"},
    {"ComplexMul", 1, "rr"},
    {"ComplexMulConj", 1, "rr"},
    {"ConvTransposeWithDynamicPads", 1, "rroo",
     "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I strides:I"},
    {"CropAndResize", 1, "rrrr", "extrapolation_value:f mode:s"},
    {"DecoderAttention", 1, "rrrrrooorrrr", "mask_filter_value:f num_heads:i!"},
    {"DecoderMaskedMultiHeadAttention", 1, "roooooooooo",
     "mask_filter_value:f num_heads:i! output_qk:i past_present_share_buffer:i scale:f"},
    {"DecoderMaskedSelfAttention", 1, "rrrororoo",
     "do_rotary:i mask_filter_value:f num_heads:i! past_present_share_buffer:i scale:f"},
    {"DequantizeBFP", 1, "rrr", "bfp_type:i! block_dim:i dtype:i"},
    {"DequantizeLinear", 1, "rro", "axis:i"},
    {"DequantizeWithOrder", 1, "rr", "order_input:i! order_output:i! to:i!"},
    {"DynamicQuantizeLSTM", 1, "rrrooooorrrr",
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i "
     "input_forget:i"},
    {"DynamicQuantizeMatMul", 1, "rrroo"},
    {"DynamicTimeWarping", 1, "r"},
    {"EPContext", 1, "v",
     "embed_mode:i ep_cache_context:s ep_sdk_version:s hardware_architecture:s main_context:i "
     "max_size:i notes:s onnx_model_filename:s partition_name:s source:s"},
    {"EmbedLayerNormalization", 1, "rorrorroo", "epsilon:f mask_index_type:i"},
    {"EngramGate", 1, "rrrrr", "epsilon:f"},
    {"ExpandDims", 1, "rr"},
    {"FastGelu", 1, "ro"},
    {"FusedConv", 1, "rroo",
     "activation:s activation_params:F auto_pad:s dilations:I group:i kernel_shape:I pads:I "
     "strides:I"},
    {"FusedGemm", 1, "rro",
     "activation:s activation_alpha:f activation_beta:f activation_gamma:f alpha:f beta:f "
     "transA:i transB:i"},
    {"FusedMatMul", 1, "rr", "alpha:f transA:i transB:i transBatchA:i transBatchB:i"},
    {"FusedMatMulActivation", 1, "rr",
     "activation:s! activation_alpha:f activation_axis:i activation_beta:f activation_gamma:f "
     "alpha:f transA:i transB:i transBatchA:i transBatchB:i"},
    {"GatedAdd", 1, "rrr"},
    {"GatedDeltaNet", 1, "rrroooooooo",
     "beta_activation:s chunk_size:i gate_activation:s qk_l2_norm:i scale:f "
     "state_update_capacity:i update_rule:s"},
    {"GatedRMSNorm", 1, "rrr", "epsilon:f"},
    {"GatedRelativePositionBias", 1, "rrrrrro", "num_heads:i!"},
    {"GatherBlockQuantized", 1, "rrro", "bits:i block_size:i gather_axis:i quantize_axis:i"},
    {"GatherND", 1, "rr"},
    {"Gelu", 1, "r"},
    {"GemmFastGelu", 1, "rro"},
    {"GemmFloat8", 1, "rroooo", "activation:s alpha:f beta:f dtype:i transA:i transB:i"},
    {"GemmaRotaryEmbedding", 1, "rrrrr"},
    {"GreedySearch", 1, "rrooooo",
     "decoder:g! decoder_start_token_id:i encoder:g eos_token_id:i! init_decoder:g "
     "model_type:i no_repeat_ngram_size:i pad_token_id:i! vocab_size:i"},
    {"GridSample", 1, "rr", "align_corners:i mode:s padding_mode:s"},
    {"GroupNorm", 1, "rrr", "activation:i! channels_last:i epsilon:f groups:i!"},
    {"GroupQueryAttention", 1, "roooorrooooooooo",
     "causal:i do_rotary:i k_quant_type:s kv_cache_bit_width:i kv_num_heads:i! "
     "local_window_size:i num_heads:i! qk_norm_epsilon:f qk_output:i rotary_interleaved:i "
     "scale:f sliding_window_cache:i smooth_softmax:i softcap:f v_quant_type:s"},
    {"Inverse", 1, "r"},
    {"Irfft", 1, "r", "normalized:i onesided:i signal_ndim:i!"},
    {"IsAllFinite", 1, "V", "isinf_only:i isnan_only:i"},
    {"LinearAttention", 1, "rrrooo",
     "chunk_size:i kv_num_heads:i! q_num_heads:i! scale:f state_window:i update_rule:s"},
    {"LinearAttentionGate", 1, "rrro"},
    {"LongformerAttention", 1, "rrrrrrr", "num_heads:i! window:i!"},
    {"MRotaryEmbedding", 1, "rrrr",
     "interleaved:i is_packed_batching:i mrope_layout:i mrope_section:I! num_heads:i "
     "rotary_embedding_dim:i scale:f"},
    {"MatMulBlockQuantizedFp4Weight", 1, "rrrroo", "block_size:i"},
    {"MatMulBlockQuantizedFp8Weight", 1, "rrroo", "block_size:i"},
    {"MatMulBnb4", 1, "rrr", "K:i! N:i! block_size:i! quant_type:i! training_mode:i transB:i"},
    {"MatMulFpQ4", 1, "rrr", "blk_quant_type:i"},
    {"MatMulInteger16", 1, "rr"},
    {"MatMulIntegerToFloat", 1, "rrrrooo"},
    {"MatMulNBits", 1, "rrrooo",
     "K:i! N:i! accuracy_level:i bits:i block_size:i! weight_prepacked:i"},
    {"MatMulNBitsMlp", 1, "roorrorro",
     "K:i! N:i! accuracy_level:i activation:s! bits:i block_size:i! epsilon:f"},
    {"MatMulNBitsQkv", 1, "rorrrorrorro",
     "K:i! Nkv:i! Nq:i! accuracy_level:i bits:i block_size:i! epsilon:f"},
    {"MaxpoolWithMask", 1, "rr", "auto_pad:s kernel_shape:I pads:I storage_order:i strides:I"},
    {"MoE", 1, "rrrorooo",
     "activation_alpha:f activation_beta:f activation_type:s k:i normalize_routing_weights:i "
     "swiglu_fusion:i swiglu_limit:f use_sparse_mixer:i"},
    {"MulInteger", 1, "roro"},
    {"MultiHeadAttention", 1, "rooooooooo",
     "mask_filter_value:f num_heads:i! scale:f unidirectional:i"},
    {"MurmurHash3", 1, "r", "positive:i seed:i"},
    {"NGramHashMapping", 1, "rrro", "max_ngram_size:i! n_head_per_ngram:i! pad_id:i!"},
    {"NGramRepeatBlock", 1, "rr", "ngram_size:i!"},
    {"NhwcConv", 1, "rro", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"NhwcFusedConv", 1, "rroo",
     "activation:s activation_params:F auto_pad:s dilations:I group:i kernel_shape:I pads:I "
     "strides:I"},
    {"NhwcMaxPool", 1, "r", "auto_pad:s ceil_mode:i dilations:I kernel_shape:I! pads:I strides:I"},
    {"PackedAttention", 1, "rrrrro", "num_heads:i! qkv_hidden_sizes:I scale:f"},
    {"PackedMultiHeadAttention", 1, "rooorro", "mask_filter_value:f num_heads:i! scale:f"},
    {"Pad", 1, "rro", "mode:s"},
    {"PagedAttention", 1, "roororrrooooooooo",
     "do_rotary:i is_causal:i k_cache_dtype:s k_quant_type:s kv_cache_layout:s kv_num_heads:i! "
     "local_window_size:i num_heads:i! qk_norm_epsilon:f rotary_interleaved:i rotary_offset:i "
     "scale:f softcap:f v_cache_dtype:s v_head_size:i v_quant_type:s"},
    {"QAttention", 1, "rrrrroooo",
     "do_rotary:i mask_filter_value:f num_heads:i! past_present_share_buffer:i scale:f "
     "unidirectional:i"},
    {"QEmbedLayerNormalization", 1, "rorrorrorrorrrrorr", "epsilon:f"},
    {"QGemm", 1, "rrrrrrooo", "alpha:f transA:i transB:i"},
    {"QLinearAdd", 1, "rrorroro"},
    {"QLinearAveragePool", 1, "rroro",
     "auto_pad:s ceil_mode:i channels_last:i count_include_pad:i kernel_shape:I! pads:I "
     "strides:I"},
    {"QLinearConcat", 1, "rrV", "axis:i!"},
    {"QLinearConv", 1, "rrrrrrrro",
     "auto_pad:s channels_last:i dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"QLinearGlobalAveragePool", 1, "rrrrr", "channels_last:i"},
    {"QLinearLeakyRelu", 1, "rroro", "alpha:f"},
    {"QLinearMul", 1, "rrorroro"},
    {"QLinearReduceMean", 1, "rroro", "axes:I! keepdims:i!"},
    {"QLinearSigmoid", 1, "rroro"},
    {"QLinearSoftmax", 1, "rrorr", "axis:i opset:i!"},
    {"QLinearWhere", 1, "rrrrrrrrr"},
    {"QMoE", 1, "rrroorooooooooooooooo",
     "activation_alpha:f activation_beta:f activation_type:s block_size:i expert_weight_bits:i "
     "k:i normalize_routing_weights:i quant_type:s swiglu_fusion:i swiglu_limit:f "
     "use_sparse_mixer:i weights_prepacked:i"},
    {"QOrderedAttention", 1, "rrrrrrrrrrrrrroorooo",
     "num_heads:i! order_input:i! order_output:i! order_weight:i! qkv_hidden_sizes:I "
     "unidirectional:i"},
    {"QOrderedGelu", 1, "rrr", "order_X:i order_Y:i"},
    {"QOrderedLayerNormalization", 1, "rrror", "axis:i epsilon:f order_X:i order_Y:i"},
    {"QOrderedLongformerAttention", 1, "rrrrrrrrrrrrrr",
     "num_heads:i! order_global_weight:i! order_input:i! order_output:i! order_weight:i! "
     "window:i!"},
    {"QOrderedMatMul", 1, "rrrrrooo", "order_A:i! order_B:i! order_Y:i!"},
    {"QuantizeBFP", 1, "r", "bfp_type:i! block_dim:i"},
    {"QuantizeLinear", 1, "rro", "axis:i"},
    {"QuantizeWithOrder", 1, "rr", "order_input:i! order_output:i!"},
    {"QuickGelu", 1, "r", "alpha:f"},
    {"Range", 1, "rro"},
    {"ReduceSumInteger", 1, "r", "axes:I! keepdims:i!"},
    {"RelativePositionBias", 1, "rrr", "is_bidirectional:i max_distance:i!"},
    {"RemovePadding", 1, "rr"},
    {"RestorePadding", 1, "rr"},
    {"Rfft", 1, "r", "normalized:i onesided:i signal_ndim:i"},
    {"RotaryEmbedding", 1, "rrrr",
     "interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f"},
    {"SampleOp", 1, "r"},
    {"Sampling", 1, "rrooooooo",
     "custom:i decoder:g! decoder_start_token_id:i encoder:g eos_token_id:i! filter_value:f "
     "init_decoder:g min_tokens_to_keep:i model_type:i no_repeat_ngram_size:i pad_token_id:i! "
     "presence_penalty:f temperature:f top_p:f vocab_size:i"},
    {"SkipGroupNorm", 1, "rrrro", "activation:i! channels_last:i epsilon:f groups:i!"},
    {"SkipLayerNormalization", 1, "rrroo", "epsilon:f"},
    {"SkipSimplifiedLayerNormalization", 1, "rrro", "epsilon:f"},
    {"Snpe", 1, "V", "DLC:s! notes:s snpe_version:s target_device:s"},
    {"SparseAttention", 1, "roorrrrrroo",
     "do_rotary:i kv_num_heads:i! num_heads:i! rotary_interleaved:i scale:f "
     "sparse_block_size:i!"},
    {"SparseToDenseMatMul", 1, "rr", "alpha:f transA:i transB:i"},
    {"Tokenizer", 1, "r", "mark:i! mincharnum:i! pad_value:s! separators:S tokenexp:s"},
    {"TorchEmbedding", 1, "rroo"},
    {"TransposeMatMul", 1, "rr", "alpha:f transA:i transB:i"},
    {"Trilu", 1, "ro", "upper:i"},
    {"UnfoldTensor", 1, "r", "dim:i size:i! step:i"},
    {"Unique", 1, "r"},
    {"VarlenCausalConvWithState", 1, "rrroro", "activation:s dilation:i state_update_capacity:i"},
    {"WhisperBeamSearch", 1, "rrorroooooooooo",
     "beginning_timestamp_token_id:i decoder:g! decoder_output_cross_qk:i "
     "decoder_start_token_id:i early_stopping:i encoder:g eos_token_id:i! init_decoder:g "
     "model_type:i no_repeat_ngram_size:i no_speech_token_id:i no_timestamps_token_id:i "
     "pad_token_id:i! start_of_lm_token_id:i transcribe_token_id:i translate_token_id:i "
     "vocab_size:i"},
    {"WordConvEmbedding", 1, "rrrr", "char_embedding_size:i conv_window_size:i embedding_size:i"},
};

}  // namespace

Span<const Signature> microsoft_signatures() { return kSignatures; }

}  // namespace wick::onnx
