// Operators of onnxruntime's own domain: names, types, attributes. Written by scripts/contrib_schemas.py from onnxruntime 1.32.0
// (MIT licence, Copyright (c) Microsoft Corporation); do not edit. The form is told in contrib_schemas.cpp.
#include "engine/schema/contrib_schemas.h"

// clang-format off
namespace nabla::engine {

std::span<const std::string_view> contribSchemaTexts() {
    static constexpr std::string_view kTexts[] = {
    R"(op com.microsoft Attention 1 | Multi-head self-attention with the projections of query, key and value in it: `input * weights + bias` gives Q, K and V side by side, heads are split off, `softmax(scale * Q K^T + mask) V` is joined again.
in input T | Input tensor with shape (batch_size, sequence_length, input_hidden_size)
in weights T | Merged Q/K/V weights with shape (input_hidden_size, hidden_size + hidden_size + v_hidden_size)
in? bias T | Bias tensor with shape (hidden_size + hidden_size + v_hidden_size) for input projection
in? mask_index M | Attention mask with shape (batch_size, 1, max_sequence_length, max_sequence_length), (batch_size, total_sequence_length) or (batch_size, sequence_length, ...
in? past T | past state for key and value with shape (2, batch_size, num_heads, past_sequence_length, head_size)When past_present_share_buffer is set, its shape is (2, ...
in? attention_bias T | additional add to QxK' with shape (batch_size or 1, num_heads or 1, sequence_length, total_sequence_length)
in? past_sequence_length M | When past_present_share_buffer is used, it is required to specify past_sequence_length (could be 0)
out output T | 3D output tensor with shape (batch_size, sequence_length, v_hidden_size)
out? present T | past state for key and value with shape (2, batch_size, num_heads, total_sequence_length, head_size)
attr do_rotary INT | Whether to use rotary position embedding
attr mask_filter_value FLOAT | The value to be filled in the attention mask
attr! num_heads INT | Number of attention heads
attr past_present_share_buffer INT | Corresponding past and present are same tensor, its size is (2, batch_size, num_heads, max_sequence_length, head_size)
attr qkv_hidden_sizes INTS | Hidden dimension of Q, K, V: hidden_size, hidden_size and v_hidden_size
attr rotary_embedding_dim INT | Dimension of rotary embedding
attr scale FLOAT | Custom scale will be used if specified
attr unidirectional INT =0 | Whether every token can only attend to previous tokens
type T bfloat16 float float16
type M int32)",
    R"(op com.microsoft BiasAdd 1 | `X + bias + skip`; the bias lies along the last axis.
in X T | Input tensor
in bias T | Bias tensor
in skip T | Residual tensor
out Y T | The output tensor with dimensions (N, S, C)
type T float float16)",
    R"(op com.microsoft BiasGelu 1 | `Gelu(A + B)`, with the exact Gelu; B lies along the last axis.
in A T | The normal input data
in B T | The bias input data that is a 1D tensor
out C T | The output
type T bfloat16 double float float16)",
    R"(op com.microsoft BiasSoftmax 1 | Softmax over the axes from `axis` on of `data + bias`.
in data T | The input data as Tensor
in bias T | The bias (or mask) as Tensor
out output T | The output
attr axis INT =1 | apply softmax to elements for dimensions axis or higher
attr! is_inner_broadcast INT | true if broadcast bias across input for dimensions broadcast_axis to axis-1, otherwise broadcast bias across input for dimensions 0 to broadcast_axis - 1
type T double float float16)",
    R"(op com.microsoft BiasSplitGelu 1 | `X + bias` cut in two along the last axis: the left half times the exact Gelu of the right half.
in X T | Input tensor
in bias T | Bias tensor
out Y T | The output tensor with dimensions (N, S, D/2)
type T float float16)",
    R"(op com.microsoft ConvTransposeWithDynamicPads 1 | ConvTranspose whose pads are an input.
in X T
in W T
in? Pads int64
in? B T
out Y T
attr auto_pad STRING =NOTSET
attr dilations INTS
attr group INT =1
attr kernel_shape INTS
attr output_padding INTS
attr strides INTS
type T double float float16)",
    R"(op com.microsoft DequantizeLinear 1 | `(x - x_zero_point) * x_scale`, for the whole tensor or along `axis`; also 16-bit and 4-bit integers.
in x T1 | N-D quantized Input tensor to be de-quantized
in x_scale T2 | Scale for input 'x'
in? x_zero_point T1 | Zero point for input 'x'
out y T2 | N-D full precision output tensor
attr axis INT | The axis along which same quantization parameters are applied
type T1 int16 int32 int4 int8 uint16 uint4 uint8
type T2 float float16)",
    R"(op com.microsoft DynamicQuantizeMatMul 1 | Quantizes A to uint8 by its own range, multiplies by the quantized B in integers and gives the product in float, plus the bias.
in A T1 | N-dimensional matrix A
in B T2 | N-dimensional matrix B
in b_scale T1 | Scale of quantized input 'B'
in? b_zero_point T2 | Zero point tensor for input 'B'
in? bias T1 | 1D input tensor, whose dimension is same as B's last dimension
out Y T1 | Matrix multiply results from A * B
type T1 float
type T2 int8 uint8)",
    R"(op com.microsoft EmbedLayerNormalization 1 | Sum of the embeddings of words, positions and segments, layer-normalized; counts the words of each row in `mask_index`.
in input_ids T1 | 2D words IDs with shape (batch_size, sequence_length)
in? segment_ids T1 | 2D segment IDs with shape (batch_size, sequence_length)
in word_embedding T | 2D with shape (,hidden_size)
in position_embedding T | 2D with shape (, hidden_size)
in? segment_embedding T | 2D with shape (, hidden_size)
in gamma T | 1D gamma tensor for layer normalization with shape (hidden_size)
in beta T | 1D beta tensor for layer normalization with shape (hidden_size)
in? mask T1 | 2D attention mask with shape (batch_size, sequence_length)
in? position_ids T1 | 2D position ids with shape (batch_size, sequence_length) or (1, sequence_length)
out output T | 3D output tensor with shape (batch_size, sequence_length, hidden_size)
out? mask_index T1 | 1D mask_index tensor with shape (batch_size)
out? embedding_sum T | sum of word_embedding and position_embedding without layer normalization
attr epsilon FLOAT =9.99999996e-13 | The epsilon value to use to avoid division by zero
attr mask_index_type INT | The mask index tensor type for shape inference (0: None, 1: 1D mask_index)
type T1 int32
type T float float16)",
    R"(op com.microsoft ExpandDims 1 | Inserts one axis of size 1 at the position `axis`.
in X T | input
in axis int32 | Specified axis to insert a dimension
out Y T | output
type T bool complex128 complex64 double float float16 int16 int32 int64 int8 string uint16 uint32 uint64 uint8)",
    R"(op com.microsoft FastGelu 1 | `Gelu(X + bias)` by the tanh approximation.
in X T | input tensor
in? bias T | bias tensor
out Y T | output tensor
type T bfloat16 double float float16)",
    R"(op com.microsoft FusedConv 1 | `activation(Conv(X, W, B) + Z)`.
in X T
in W T
in? B T
in? Z T
out Y T
attr activation STRING
attr activation_params FLOATS
attr auto_pad STRING =NOTSET
attr dilations INTS
attr group INT =1
attr kernel_shape INTS
attr pads INTS
attr strides INTS
type T double float float16)",
    R"(op com.microsoft FusedGemm 1 | `activation(alpha * A' * B' + beta * C)`.
in A T | Input tensor A
in B T | Input tensor B
in? C T | Input tensor C
out Y T | Output tensor of shape (M, N)
attr activation STRING
attr activation_alpha FLOAT
attr activation_beta FLOAT
attr activation_gamma FLOAT
attr alpha FLOAT =1.0 | Scalar multiplier for the product of input tensors A * B
attr beta FLOAT =1.0 | Scalar multiplier for input tensor C
attr transA INT =0 | Whether A should be transposed
attr transB INT =0 | Whether B should be transposed
type T double float float16 int32 int64 uint32 uint64)",
    R"(op com.microsoft FusedMatMul 1 | `alpha * A' * B'`: MatMul with transposed operands and a factor.
in A T | N-dimensional matrix A
in B T | N-dimensional matrix B
out Y T | Matrix multiply results
attr alpha FLOAT =1.0 | Scalar multiplier for the product of the input tensors
attr transA INT =0 | Whether A should be transposed on the last two dimensions before doing multiplication
attr transB INT =0 | Whether B should be transposed on the last two dimensions before doing multiplication
attr transBatchA INT =0 | Whether A should be transposed on the 1st dimension and batch dimensions (dim-1 to dim-rank-2) before doing multiplication
attr transBatchB INT =0 | Whether B should be transposed on the 1st dimension and batch dimensions (dim-1 to dim-rank-2) before doing multiplication
type T bfloat16 double float float16)",
    R"(op com.microsoft Gelu 1 | `x * Phi(x)`, exact (by erf).
in X T | The input data as Tensor
out Y T | The output
type T bfloat16 double float float16)",
    R"(op com.microsoft GroupNorm 1 | Group normalization with a scale and a bias for each channel, channels last or second, and `x * sigmoid(x)` after it where `activation` is 1.
in X T | Input data tensor
in gamma M | 1D gamma tensor for normalization with shape (C), where C is number of channels
in beta M | 1D beta tensor for normalization with shape (C), where C is number of channels
out Y T | The output tensor of the same shape as X
attr! activation INT | Activation after group normalization: 0 for None, 1 for SiLU
attr channels_last INT =1 | 1 if the input and output are in the NHWC layout, 0 if it is in the NCHW layout
attr epsilon FLOAT =9.99999975e-06 | The epsilon value to use to avoid division by zero
attr! groups INT | The number of groups of channels
type T float float16
type M float float16)",
    R"(op com.microsoft GroupQueryAttention 1 | Attention for decoders in which several heads of the query share one of key and value: causal, with a cache that grows, optional rotary embedding, local window, soft cap.
in query T | Query with shape (batch_size, sequence_length, hidden_size), or packed QKV with shape(batch_size, sequence_length, d) where d is (num_heads * head_size + 2 ...
in? key T | Key with shape (batch_size, kv_sequence_length, kv_hidden_size)
in? value T | Value with shape (batch_size, kv_sequence_length, kv_hidden_size)
in? past_key T_CACHE | past state key with support for format BNSH
in? past_value T_CACHE | past state value with support for format BNSH
in seqlens_k M | 1D Tensor of shape (batch_size)
in total_sequence_length M | Scalar tensor equivalent to the maximum total sequence length (past + new) of the batch
in? cos_cache T | 2D tensor with shape (max_sequence_length, head_size / 2)
in? sin_cache T | 2D tensor with shape (max_sequence_length, head_size / 2)
in? position_ids int64 | 2D tensor with shape (batch_size, sequence_length)
in? attention_bias T | additional add to QxK' with shape (batch_size or 1, num_heads or 1, sequence_length, total_sequence_length)
in? head_sink T | 1D tensor with shape (num_heads)
in? k_scale T_KV_SCALE | Scale tensor for past_key
in? v_scale T_KV_SCALE | Scale tensor for past_value
in? q_norm_weight T | Optional 1D tensor of shape (head_size)
in? k_norm_weight T | Optional 1D tensor of shape (head_size)
in? query_seqlens M | Optional 1D tensor of shape (batch_size) with the number of valid, non-padded tokens in the query/key/value chunk of each batch entry
out output T | 3D output tensor with shape (batch_size, sequence_length, hidden_size)
out? present_key T_CACHE | present state key with support for format BNSH
out? present_value T_CACHE | present state value with support for format BNSH
out? output_qk T | Values of QK matrix multiplication, either before or after softmax normalization
attr causal INT =1 | Whether to apply a causal mask
attr do_rotary INT | Whether to use rotary position embedding
attr k_norm_epsilon FLOAT | Epsilon for per-head K RMS normalization
attr k_quant_type STRING =NONE | Quantization type for K cache
attr kv_cache_bit_width INT | Bit width of quantized KV cache
attr! kv_num_heads INT | Number of attention heads for k and v
attr local_window_size INT =-1 | left_window_size for causal local attention (like Mistral)
attr! num_heads INT | Number of attention heads for q
attr q_norm_epsilon FLOAT | Epsilon for per-head Q RMS normalization
attr qk_norm_epsilon FLOAT =9.99999997e-07 | Epsilon used by the per-head RMS norm applied to Q and K when q_norm_weight and k_norm_weight inputs are provided
attr qk_output INT =0 | Output values of QK matrix multiplication before (1) or after (2) softmax normalization
attr rotary_interleaved INT | Rotate using interleaved pattern
attr scale FLOAT | Custom scale will be used if specified
attr sliding_window_cache INT =0 | Set to 1 when the past/present KV buffers are window-sized instead of holding the whole sequence
attr smooth_softmax INT =-1 | Use a smooth factor in softmax
attr softcap FLOAT | Softcap value for attention weights
attr v_quant_type STRING =NONE | Quantization type for V cache
type T bfloat16 float float16
type T_CACHE bfloat16 float float16 float8e4m3fn int8 uint8
type T_KV_SCALE float
type M int32)",
    R"(op com.microsoft Inverse 1 | Inverses of a stack of square matrices.
in X T | Input tensor
out Y T | Output tensor of the same type and shape as the input tensor
type T double float float16)",
    R"(op com.microsoft MatMulIntegerToFloat 1 | Integer product of two quantized matrices, scaled to float, plus the bias.
in A T1 | N-dimensional matrix A
in B T2 | N-dimensional matrix B
in a_scale T3 | Scale of quantized input 'A'
in b_scale T3 | Scale of quantized input 'B'
in? a_zero_point T1 | Zero point tensor for input 'A'
in? b_zero_point T2 | Zero point tensor for input 'B'
in? bias T3 | 1D input tensor, whose dimension is same as B's last dimension
out Y T3 | Matrix multiply results from A * B
type T1 int8 uint8
type T2 int8 uint8
type T3 float float16)",
    R"(op com.microsoft MatMulNBits 1 | `A * B^T` with B of shape [N, K] packed into 2, 4 or 8 bits, one scale and zero point for each block of K.
in A T1 | The input tensor, not quantized
in B T2 | Packed uint8 tensor of shape (N, k_blocks, blob_size), where k_blocks = ceil(K / block_size) and blob_size = (block_size * bits / 8)
in scales T1 | Per-block scaling factors for dequantization with shape (N, k_blocks) and same data type as input A
in? zero_points T3 | Per-block zero point for dequantization
in? g_idx T4 | group_idx
in? bias T1 | Bias to add to result
out Y T1 | tensor
attr! K INT | Input feature dimension of the weight matrix
attr! N INT | Output feature dimension of the weight matrix
attr accuracy_level INT =0 | The minimum accuracy level of input A, can be: 0(unset), 1(fp32), 2(fp16), 3(bf16), or 4(int8) (default unset)
attr bits INT =4 | Bit-width used to quantize the weights (supported values: 2, 4, 8)
attr! block_size INT | Size of each quantization block along the K (input feature) dimension
attr weight_prepacked INT =0 | If set, input B is already prepacked into an EP-specific layout and the EP skips runtime weight prepacking
type T1 bfloat16 float float16
type T2 uint8
type T3 bfloat16 float float16 uint8
type T4 int32)",
    R"(op com.microsoft MultiHeadAttention 1 | Multi-head attention of separate or packed query, key and value, with biases, padding mask, cache.
in query T | Query with shape (batch_size, sequence_length, hidden_size), or packed QKV with shape (batch_size, kv_sequence_length, num_heads, 3, head_size)
in? key T | Key with shape (batch_size, kv_sequence_length, hidden_size), or packed KV with shape (batch_size, kv_sequence_length, num_heads, 2, head_size), or past_key ...
in? value T | Value with shape (batch_size, kv_sequence_length, v_hidden_size), or past_value with shape (batch_size, num_heads, kv_sequence_length, head_size)
in? bias T | Bias tensor with shape (hidden_size + hidden_size + v_hidden_size) from input projection
in? key_padding_mask M | Key padding mask with shape (batch_size), (3 * batch_size + 2), (batch_size, kv_sequence_length), (batch_size, total_sequence_length), or (batch_size, ...
in? attention_bias T | bias added to QxK' with shape (batch_size or 1, num_heads or 1, sequence_length, total_sequence_length)
in? past_key T | past state for key with shape (batch_size, num_heads, past_sequence_length, head_size) or (batch_size, num_heads, max_sequence_length, head_size) when ...
in? past_value T | past state for value with shape (batch_size, num_heads, past_sequence_length, head_size) or (batch_size, num_heads, max_sequence_length, head_size) when ...
in? past_sequence_length M | The past_sequence_length buffer sharing is used with
in? cache_indirection M | A buffer of shape [batch_size, beam_width, max_sequence_length] where an [i, j, k] entry specifieswhich beam the 'k' th token came from for the 'j' th beam ...
out output T | 3D output tensor with shape (batch_size, sequence_length, v_hidden_size)
out? present_key T | present state for key with shape (batch_size, num_heads, total_sequence_length, head_size) or (batch_size, num_heads, max_sequence_length, head_size) when ...
out? present_value T | present state for value with shape (batch_size, num_heads, total_sequence_length, head_size) or (batch_size, num_heads, max_sequence_length, head_size) when ...
out? qk QK | normalized Q * K, of shape (batch_size, num_heads, sequence_length, total_sequence_length)
attr mask_filter_value FLOAT | The value to be filled in the attention mask
attr! num_heads INT | Number of attention heads
attr scale FLOAT | Custom scale will be used if specified
attr unidirectional INT =0 | Whether every token can only attend to previous tokens
type T bfloat16 float float16
type QK bfloat16 float float16
type M int32)",
    R"(op com.microsoft NhwcMaxPool 1 | MaxPool of a quantized tensor with the channels last.
in x T
out y T
attr auto_pad STRING =NOTSET
attr ceil_mode INT =0
attr dilations INTS
attr! kernel_shape INTS
attr pads INTS
attr strides INTS
type T int8 uint8)",
    R"(op com.microsoft QAttention 1 | Attention with quantized input and weights.
in input T1 | 3D input tensor with shape (batch_size, sequence_length, input_hidden_size)
in weight T2 | 2D input tensor with shape (input_hidden_size, 3 * hidden_size), hidden_size = num_heads * head_size
in bias T3 | 1D input tensor with shape (3 * hidden_size)
in input_scale T3 | scale of quantized input tensor
in weight_scale T3 | scale of weight scale
in? mask_index T4 | Attention mask index with shape (batch_size)
in? input_zero_point T1 | zero point of quantized input tensor.It's a scalar, which means a per-tensor/layer quantization
in? weight_zero_point T2 | zero point of quantized weight tensor
in? past T3 | past state for key and value with shape (2, batch_size, num_heads, past_sequence_length, head_size)
out output T3 | 3D output tensor with shape (batch_size, sequence_length, hidden_size)
out? present T3 | present state for key and value with shape (2, batch_size, num_heads, past_sequence_length + sequence_length, head_size)
attr do_rotary INT | Whether to use rotary position embedding
attr mask_filter_value FLOAT | The value to be filled in the attention mask
attr! num_heads INT | Number of attention heads
attr past_present_share_buffer INT | Corresponding past and present are same tensor, its shape is (2, batch_size, num_heads, max_sequence_length, head_size)
attr scale FLOAT | Custom scale will be used if specified
attr unidirectional INT =0 | Whether every token can only attend to previous tokens
type T1 int8 uint8
type T2 int8 uint8
type T3 float float16
type T4 int32)",
    R"(op com.microsoft QGemm 1 | Gemm of quantized matrices: float out, or quantized again where an output scale is given.
in A TA | Input tensor A
in a_scale T | Scale of quantized input 'A'
in a_zero_point TA | Zero point tensor for input 'A'
in B TB | Input tensor B
in b_scale T | Scale of quantized input 'B'
in b_zero_point TB | Zero point tensor for input 'B'
in? C TC | Optional input tensor C
in? y_scale T | Scale of output 'Y'
in? y_zero_point TYZ | Zero point tensor for output 'Y'
out Y TY | Output tensor of shape (M, N)
attr alpha FLOAT =1.0 | Scalar multiplier for the product of input tensors A * B
attr transA INT =0 | Whether A should be transposed
attr transB INT =0 | Whether B should be transposed
type T float
type TA int8 uint8
type TB int8 uint8
type TC int32
type TYZ int8 uint8
type TY float int8 uint8)",
    R"(op com.microsoft QLinearAdd 1 | Sum of two quantized tensors, quantized again.
in A T | First operand
in A_scale float | Input A's scale
in? A_zero_point T | Input A zero point
in B T | Second operand
in B_scale float | Input B's scale
in? B_zero_point T | Input B zero point
in C_scale float | Output scale
in? C_zero_point T | Output zero point
out C T | Result, has same element type as two inputs
type T int8 uint8)",
    R"(op com.microsoft QLinearAveragePool 1 | AveragePool of a quantized tensor, quantized again.
in X T | Input data tensor from the previous operator;
in x_scale float | Input scale
in? x_zero_point T | Input zero point
in y_scale float | Output scale
in? y_zero_point T | Output zero point
out Y T | Output data tensor from average or max pooling across the input tensor
attr auto_pad STRING =NOTSET | auto_pad must be either NOTSET, SAME_UPPER, SAME_LOWER or VALID
attr ceil_mode INT =0 | Whether to use ceil or floor (default) to compute the output shape
attr channels_last INT =0 | Works on NHWC layout or not? Default not
attr count_include_pad INT =0 | Whether include pad pixels when calculating values for the edges
attr! kernel_shape INTS | The size of the kernel along each axis
attr pads INTS | Padding for the beginning and ending along each spatial axis, it can take any value greater than or equal to 0
attr strides INTS | Stride along each spatial axis
type T int8 uint8)",
    R"(op com.microsoft QLinearConcat 1 | Concat of quantized tensors, each with a scale of its own, quantized again.
in Y_scale TF | Y's scale
in Y_zero_point T8 | Y's zero point
in* inputs TV | List of tensors/scale/zero_point for concatenation
out Y T8 | Concatenated tensor
attr! axis INT | Which axis to concat on
type T8 int8 uint8
type TF float
type TV float int8 uint8)",
    R"(op com.microsoft QLinearGlobalAveragePool 1 | GlobalAveragePool of a quantized tensor, quantized again.
in X T | Input data tensor from the previous operator;
in x_scale float | Scale of quantized input 'X'
in x_zero_point T | Zero point tensor for input 'X'
in y_scale float | Scale of quantized output 'Y'
in y_zero_point T | Zero point tensor for output 'Y'
out Y T | Output data tensor from pooling across the input tensor
attr channels_last INT =0
type T int8 uint8)",
    R"(op com.microsoft QLinearLeakyRelu 1 | LeakyRelu of a quantized tensor, quantized again.
in X T | Input tensor
in X_scale float | Input X's scale
in? X_zero_point T | Input X's zero point
in Y_scale float | Output Y's scale
in? Y_zero_point T | Output Y's zero point
out Y T | Output tensor
attr alpha FLOAT =0.00999999978 | Coefficient of leakage
type T int8 uint8)",
    R"(op com.microsoft QLinearMul 1 | Product of two quantized tensors, quantized again.
in A T | First operand
in A_scale float | Input A's scale
in? A_zero_point T | Input A zero point
in B T | Second operand
in B_scale float | Input B's scale
in? B_zero_point T | Input B zero point
in C_scale float | Output scale
in? C_zero_point T | Output zero point
out C T | Result, has same element type as two inputs
type T int8 uint8)",
    R"(op com.microsoft QLinearSigmoid 1 | Sigmoid of a quantized tensor, quantized again.
in X T | Input tensor
in X_scale float | Input X's scale
in? X_zero_point T | Input X's zero point
in Y_scale float | Output Y's scale
in? Y_zero_point T | Output Y's zero point
out Y T | Output tensor
type T int8 uint8)",
    R"(op com.microsoft QLinearSoftmax 1 | Softmax of a quantized tensor, quantized again.
in X T | The input tensor
in X_scale float | Scale of quantized input 'X'
in? x_zero_point T | Zero point tensor for input 'X'.It must be a scalar
in y_scale float | Scale of quantized output 'Y'
in y_zero_point T | Zero point tensor for output 'Y'
out Y T | Output data tensor from pooling across the input tensor
attr axis INT =-1 | apply softmax to elements for dimensions axis,or all dims along with axis according to op-version
attr! opset INT | opset version of corresponding SoftMax
type T int8 uint8)",
    R"(op com.microsoft QLinearWhere 1 | Where on two quantized tensors, quantized again.
in condition B | When True (nonzero), yield x, otherwise yield y
in X T | Y's zero point
in x_scale TF | X's scale
in x_zero_point T | X's zero point
in Y T | Y's zero point
in y_scale TF | Y's scale
in y_zero_point T | Y's zero point
in z_scale TF | Z's scale
in z_zero_point T | Z's zero point
out Z T | Tensor of shape equal to the broadcasted shape of condition, X, and Y
type B bool
type TF float
type T int8 uint8)",
    R"(op com.microsoft QuantizeLinear 1 | `round(x / y_scale) + y_zero_point` within the range of the integer type, for the whole tensor or along `axis`.
in x T1 | N-D full precision Input tensor to be quantized
in y_scale T1 | Scale for doing quantization to get 'y'
in? y_zero_point T2 | Zero point for doing quantization to get 'y'
out y T2 | N-D quantized output tensor
attr axis INT | The axis along which same quantization parameters are applied
type T1 float float16
type T2 int16 int4 int8 uint16 uint4 uint8)",
    R"(op com.microsoft QuickGelu 1 | `x * sigmoid(alpha * x)`.
in X T | The input data as Tensor
out Y T | The output
attr alpha FLOAT =1.70200002 | Alpha value
type T bfloat16 double float float16)",
    R"(op com.microsoft RotaryEmbedding 1 | Turns pairs of elements of each head by the angles of its position.
in input T | 3D tensor with shape (batch_size, sequence_length, hidden_size) or 4D with shape (batch_size, num_heads, sequence_length, head_size)
in position_ids M | 1D tensor with shape (1) or 2D tensor with shape (batch_size, sequence_length)
in cos_cache T | 2D tensor with shape (max_sequence_length, head_size / 2) or (max_sequence_length, rotary_embedding_dim / 2)
in sin_cache T | 2D tensor with shape (max_sequence_length, head_size / 2) or (max_sequence_length, rotary_embedding_dim / 2)
out output T | tensor with same shape as input
attr interleaved INT | Indicates whether the input has real and imaginary parts interleaved
attr is_packed_batching INT | ragged batch inputs or not
attr num_heads INT | Number of attention heads
attr rotary_embedding_dim INT | Rotary embedding dimension
attr scale FLOAT | Custom scale will be used if specified
type T bfloat16 float float16
type M int64)",
    R"(op - SimplifiedLayerNormalization 1 | Layer normalization without a mean: `x / sqrt(mean(x^2) + epsilon) * scale`.
in X T | Input data tensor from the previous layer
in scale V | Scale tensor
out Y V | Output data tensor
out? inv_std_var U | Saved inverse standard variance used during training to speed up gradient computation
attr axis INT =-1 | The first normalization dimension: normalization will be performed along dimensions axis : rank(inputs)
attr epsilon FLOAT =9.99999975e-06 | The epsilon value to use to avoid division by zero
attr stash_type INT =1 | type used for stash mean/inv_std_var
type T bfloat16 double float float16
type U double float
type V bfloat16 double float float16)",
    R"(op com.microsoft SkipGroupNorm 1 | GroupNorm of `X + skip + bias`; the sum is the second output.
in X T | Input data tensor
in gamma M | 1D gamma tensor for normalization with shape (C), where C is number of channels
in beta M | 1D beta tensor for normalization with shape (C), where C is number of channels
in skip T | 4D or 2D skip tensor
in? bias T | 1D bias tensor
out Y T | The output tensor of the same shape as X
out? S T | The element-wise sum of input x, skip and bias tensors
attr! activation INT | Activation after group normalization: 0 for None, 1 for SiLU
attr channels_last INT =1 | 1 if the input and output are in the NHWC layout, 0 if it is in the NCHW layout
attr epsilon FLOAT =9.99999975e-06 | The epsilon value to use to avoid division by zero
attr! groups INT | The number of groups of channels
type T float float16
type M float float16)",
    R"(op com.microsoft SkipLayerNormalization 1 | Layer normalization of `input + skip + bias`.
in input T | 3D input tensor with shape (batch_size, sequence_length, hidden_size)
in skip T | 3D skip tensor with shape (batch_size, sequence_length, hidden_size) or (1, sequence_length, hidden_size) or (sequence_length, hidden_size)
in gamma T | 1D input tensor with shape (hidden_size)
in? beta T | 1D skip tensor with shape (hidden_size
in? bias T | 1D bias tensor with shape (hidden_size
out output T | 3D output tensor with shape (batch_size, sequence_length, hidden_size)
out? mean U | Saved mean used during training to speed up gradient computation
out? inv_std_var U | Saved inverse standard variance used during training to speed up gradient computation
out? input_skip_bias_sum T | Sum of the input and skip inputs (and bias if it exists) with shape (batch_size, sequence_length, hidden_size)
attr epsilon FLOAT =9.99999996e-13 | The epsilon value to use to avoid division by zero
type T bfloat16 float float16
type U float)",
    R"(op com.microsoft SkipSimplifiedLayerNormalization 1 | `x / sqrt(mean(x^2) + epsilon) * gamma` of `x = input + skip + bias`.
in input T | 3D input tensor with shape (batch_size, sequence_length, hidden_size)Or 2D input tensor with shape (token_count, hidden_size)
in skip T | 3D input tensor with shape (batch_size, sequence_length, hidden_size)Or 2D input tensor with shape (token_count, hidden_size)
in gamma T | 1D input tensor with shape (hidden_size)
in? bias T | 1D bias tensor with shape (hidden_size
out output T | 3D output tensor with shape (batch_size, sequence_length, hidden_size)Or 2D output tensor with shape (token_count, hidden_size)
out? mean U | Saved mean used during training to speed up gradient computation
out? inv_std_var U | Saved inverse standard variance used during training to speed up gradient computation
out? input_skip_bias_sum T | Sum of the input and skip inputs (and bias if it exists)with shape (batch_size, sequence_length, hidden_size) or (token_count, hidden_size)
attr epsilon FLOAT =9.99999996e-13 | The epsilon value to use to avoid division by zero
type T bfloat16 float float16
type U float)",
    R"(op com.microsoft TransposeMatMul 1 | `alpha * A' * B'`: the older name of FusedMatMul.
in A T | N-dimensional matrix A
in B T | N-dimensional matrix B
out Y T | Matrix multiply results
attr alpha FLOAT =1.0 | Scalar multiplier for the product of the input tensors
attr transA INT =0 | Whether A should be transposed on the last two dimensions before doing multiplication
attr transB INT =0 | Whether B should be transposed on the last two dimensions before doing multiplication
type T bfloat16 double float float16)",
    };
    return kTexts;
}

} // namespace nabla::engine
