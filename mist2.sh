. /tmp/lab/s9/newcomer/env.sh
B=outputs/train/reach/checkpoints/000200/pretrained_model
m() { echo "### $*"; s=$(date +%s.%N); timeout 40 nice -n 5 "$@" 2>&1 </dev/null | tail -6; echo "rc ${PIPESTATUS[0]}  $(python3 -c "import time;print(round(time.time()-$s,1))")s"; }
Q="--steps=2 --batch_size=2 --threads=1"
# dataset without actions
cp -r data/reach data/noact; python - <<'P'
import json; p='data/noact/meta/info.json'; d=json.load(open(p)); d['features'].pop('action'); json.dump(d,open(p,'w'))
P
m yardarm train --policy.type=act --dataset.root=data/noact $Q --output_dir=outputs/m2
m yardarm train --policy.type=diffusion --policy.path=$B --dataset.root=data/reach $Q --output_dir=outputs/m2
m yardarm train --resume=true
m yardarm train --resume=true --config_path=outputs/train/nope
m yardarm train --resume=true --config_path=outputs/train/w1 --policy.dim_model=32
m yardarm train --resume=true --config_path=outputs/train/w1 --batch_size=8 --steps=32
m yardarm train --resume=true --config_path=outputs/train/w1 --seed=3 --steps=32
m yardarm train --resume=true --config_path=outputs/train/w1 --steps=10
m yardarm train --resume=true --config_path=outputs/train/w1 --dataset.root=data/two --steps=32
m yardarm train --resume=true --config_path=outputs/train/w1 --output_dir=outputs/m5 --steps=32
m yardarm train --resume=true --output_dir=outputs/train/w1
m yardarm train --policy.type=act --dataset.root=data/reach $Q --env.type=pusht --output_dir=outputs/m3
m yardarm train --policy.type=act --dataset.root=data/reach $Q --env.task=reach-v3 --output_dir=outputs/m4
m yardarm train --policy.type=act --dataset.root=data/reach $Q --env.type=metaworld --env.task=reach --output_dir=outputs/m4
m yardarm train --policy.type=act --dataset.root=data/reach $Q --eval_freq=1 --output_dir=outputs/m6
m yardarm train --policy.type=act --dataset.root=data/reach $Q --eval_steps=1 --output_dir=outputs/m7
m yardarm train --policy.type=act --dataset.root=data/reach $Q --dataset.eval_split=0.05 --eval_steps=1 --output_dir=outputs/m8
m yardarm train --policy.type=act --dataset.root=data/reach $Q --policy.device=cuda --output_dir=outputs/m9
m yardarm train --policy.type=act --dataset.root=data/reach $Q --mixed_precision=fp16 --output_dir=outputs/m10
m yardarm train --policy.type=act --dataset.root=data/reach $Q --task_vector=mt5 --output_dir=outputs/m11
m yardarm train --policy.type=act --dataset.root=data/reach $Q --scheduler.name=cosin --output_dir=outputs/m12
m yardarm train --policy.type=act --dataset.root=data/reach $Q --optimizer.lr=0 --output_dir=outputs/m13
m yardarm train --policy.type=act --dataset.root=data/reach $Q --ema_decay=2 --output_dir=outputs/m14
ls -d outputs/m*
